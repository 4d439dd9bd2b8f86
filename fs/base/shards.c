/* SPDX-License-Identifier: MIT */
/* shards.c - see shards.h: creation and release of sets, and the assignment of files to shards. */
#include "fs/base/shards.h"
#include "fs/base/organ_files.h"
#include "fs/base/shard_candidate.h"
#include "fs/base/shards_internal.h"
#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/storage/remote_cache.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/gather.h"
#include "gguf/names.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* split.count is a u16 */
#define COUNT_MAX 65535u

/* shards use at most this part of the descriptors that the process may have */
#define DESCRIPTORS_PART 4

static struct fd_cache *make_set(void)
{
	struct rlimit limit;
	unsigned most = 4096;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < (rlim_t)most * DESCRIPTORS_PART)
		most = (unsigned)(limit.rlim_cur / DESCRIPTORS_PART);
	return fd_cache_new(most < 4 ? 4 : most);
}

/* Parameters of a set: as in struct shards, borrowed. */
struct shards_kind {
	const char *stem, *header, *tail;
	uint32_t count;
	uint64_t total;
	struct fd_cache *set; /* NULL: a new one */
	struct organ_files *organs;
	struct remote_cache *remote; /* NULL: a new one, if needed */
	bool mounted;
};

static struct remote_cache *make_remote(const struct shards_kind *kind)
{
	if (!kind->tail)
		return NULL;
	return kind->remote ? remote_cache_ref(kind->remote) : remote_cache_new();
}

/* A set before its first scan. NULL: out of memory. */
static struct shards *shards_new(const struct shards_kind *kind)
{
	const uint32_t count = kind->count;
	struct shards *shards = calloc(1, sizeof(*shards));

	if (!shards)
		return NULL;
	atomic_init(&shards->refs, 1);
	pthread_mutex_init(&shards->lock, NULL);
	shards->count = count;
	shards->total = kind->total;
	shards->mounted = kind->mounted;
	shards->set = kind->set ? fd_cache_ref(kind->set) : make_set();
	shards->stem = kind->stem ? strdup(kind->stem) : NULL;
	shards->header = kind->header ? strdup(kind->header) : NULL;
	shards->tail = kind->tail ? strdup(kind->tail) : NULL;
	shards->remote = make_remote(kind);
	shards->organs = kind->organs ? organ_files_ref(kind->organs) : NULL;
	shards->n_candidates = kind->organs ? (size_t)kind->organs->n_all + 1 : 1;
	if (kind->stem && !kind->organs)
		shards->n_candidates = count;
	shards->candidates = calloc(shards->n_candidates, sizeof(*shards->candidates));
	shards->parts = calloc(count, sizeof(struct shard_file *));
	shards->gone = calloc(count, sizeof(bool));
	if (shards->set && (!kind->stem || shards->stem) && (!kind->header || shards->header) &&
	    (!kind->tail || (shards->tail && shards->remote)) && shards->candidates &&
	    shards->parts && shards->gone)
		return shards;
	shards_unref(shards);
	return NULL;
}

struct shards *shards_ref(struct shards *shards)
{
	atomic_fetch_add(&shards->refs, 1);
	return shards;
}

void shards_unref(struct shards *shards)
{
	if (!shards || atomic_fetch_sub(&shards->refs, 1) != 1)
		return;
	for (size_t i = 0; shards->candidates && i < shards->n_candidates; i++) {
		shard_file_unref(shards->candidates[i].part);
		free(shards->candidates[i].why);
		free(shards->candidates[i].path);
		free(shards->candidates[i].url);
	}
	for (uint32_t k = 0; shards->parts && k < shards->count; k++)
		shard_file_unref(shards->parts[k]);
	free(shards->candidates);
	free(shards->parts);
	free(shards->gone);
	free(shards->stem);
	free(shards->header);
	free(shards->tail);
	remote_cache_unref(shards->remote);
	organ_files_unref(shards->organs);
	fd_cache_unref(shards->set);
	pthread_mutex_destroy(&shards->lock);
	free(shards);
}

/* Can the file be a shard of this model, with a new number? If not, record the reason. */
static bool belongs(const struct shards *shards, struct shard_candidate *candidate)
{
	const struct split *split = &candidate->part->split;

	if (split->count != shards->count)
		return shard_candidate_reject(candidate,
					      "it is of another model: one with %" PRIu64 " shards",
					      split->count);
	if (split->no >= split->count)
		return shard_candidate_reject(candidate,
					      "it says that it is shard %" PRIu64 " of %" PRIu64,
					      split->no + 1, split->count);
	if (split->tensors && shards->total && split->tensors != shards->total)
		return shard_candidate_reject(candidate,
					      "it is of another model: one with %" PRIu64
					      " tensors, not %" PRIu64,
					      split->tensors, shards->total);
	if (shards->parts[split->no])
		return shard_candidate_reject(candidate,
					      "it says that it is shard %" PRIu64
					      ", as another file does",
					      split->no + 1);
	return true;
}

/* Are all its tensors new? If not, the reason is recorded. */
static bool has_new_tensors(const struct names *names, struct shard_candidate *candidate)
{
	const struct gguf *gguf = candidate->part->gguf;
	uint32_t number;

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];

		if (names_find(names, t->name, t->name_length, &number))
			return shard_candidate_reject(candidate,
						      "its tensor \"%.80s\" is in shard %" PRIu32
						      " as well",
						      t->name, number + 1);
	}
	return true;
}

/* Add a candidate's shard to the set, if it belongs there. Returns 0 or -ENOMEM. */
static int use(struct shards *shards, struct shard_candidate *candidate, struct names *names)
{
	const struct shard_file *part = candidate->part;
	const uint32_t no = (uint32_t)part->split.no;
	/* The tensors of a header are in the files after it. */
	const uint32_t n = shards->organs && no == 0 ? 0 : part->gguf->n_tensors;

	if (!belongs(shards, candidate) || !has_new_tensors(names, candidate))
		return 0;
	shards->parts[no] = shard_file_ref(candidate->part);
	if (!shards->total)
		shards->total = part->split.tensors;
	for (uint32_t i = 0; i < n; i++) {
		const struct gguf_tensor *t = &part->gguf->tensors[i];

		if (names_add(names, t->name, t->name_length, no) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* If two files have the same split.no, the one whose name has that number is used. */
static int use_all(struct shards *shards)
{
	struct names *names = names_new(shards->organs ? shards->count : 0);
	int rc = names ? 0 : -ENOMEM;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; rc == 0 && i < shards->n_candidates; i++) {
			struct shard_candidate *candidate = &shards->candidates[i];
			const bool agrees = candidate->part && candidate->part->split.no == i;

			if (candidate->part && agrees == (pass == 0))
				rc = use(shards, candidate, names);
		}
	}
	names_free(names);
	return rc;
}

/* Scan all candidates; the first n were scanned before. path is passed to shard_candidate_place().
 * NULL: out of memory. */
static struct shards *scan_all(struct shards *shards, const struct shard_candidate *before,
			       size_t n, const char *path)
{
	bool whole = true;

	for (size_t i = 0; whole && i < shards->n_candidates; i++) {
		whole = shard_candidate_place(shards, i, path);
		if (whole)
			shard_candidate_scan(shards, i, i < n ? &before[i] : NULL);
		/* At a URL, one missing shard makes the set unusable. */
		if (whole && shards->tail && !shards->candidates[i].part)
			break;
	}
	if (whole && use_all(shards) == 0)
		return shards;
	shards_unref(shards);
	return NULL;
}

/* The path without numbers and suffix, to free. NULL: not a shard's name with that count. */
static char *stem_of(const char *path, uint32_t count)
{
	const char *name = basename(path);
	const size_t n = paths_shard_prefix(name);

	if (n == 0 || strtoul(name + n + sizeof("-00000-of-") - 1, NULL, 10) != count)
		return NULL;
	return strndup(path, (size_t)(name - path) + n);
}

/* An absolute path, independent of later chdir(), to free. */
static char *absolute(const char *path)
{
	char *directory = paths_directory(path), *whole;
	int n = -1;

	if (directory)
		n = asprintf(&whole, "%s/%s", directory[1] ? directory : "", basename(path));
	free(directory);
	return n < 0 ? NULL : whole;
}

/* If shards or tensors at a URL are missing, set err and release the set. */
static struct shards *require_all(struct shards *shards, struct error *err)
{
	char *text;

	for (uint32_t k = 0; k < shards->count; k++) {
		const char *why = k < shards->n_candidates ? shards->candidates[k].why : NULL;
		char name[NAME_MAX + 1];

		if (shards->parts[k])
			continue;
		error_set(err, ENODATA, ERROR_NO_OFFSET, "%.100s: %s",
			  shards_filename(shards, k, name), why ? why : "the file is missing");
		shards_unref(shards);
		return NULL;
	}
	if (shards_are_complete(shards))
		return shards;
	text = shards_missing_text(shards);
	error_set(err, text ? ENODATA : ENOMEM, ERROR_NO_OFFSET, "%s",
		  text ? text : "out of memory");
	free(text);
	shards_unref(shards);
	return NULL;
}

struct shards *shards_find(const char *given, const struct split *split,
			   struct remote_cache *remote, bool mounted, struct error *err)
{
	const char *tail = url_is_remote(given) ? url_name_end(given) : NULL;
	struct shards *shards = NULL;
	char *path, *stem;

	if (split->count > COUNT_MAX || split->no >= split->count) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "it says that it is shard %" PRIu64 " of %" PRIu64, split->no + 1,
			  split->count);
		return NULL;
	}
	path = tail ? strndup(given, (size_t)(tail - given)) : absolute(given);
	stem = path ? stem_of(path, (uint32_t)split->count) : NULL;
	if (path)
		shards = shards_new(&(struct shards_kind){ .stem = stem,
							   .tail = tail,
							   .count = (uint32_t)split->count,
							   .total = split->tensors,
							   .remote = remote,
							   .mounted = mounted });
	if (shards)
		shards = scan_all(shards, NULL, 0, tail ? given : path);
	free(stem);
	free(path);
	if (shards)
		return tail ? require_all(shards, err) : shards;
	error_errno(err, ENOMEM);
	return NULL;
}

/* Look for the header of organ files in a directory; candidate->part stays NULL if there is none.
 * Mounts show an empty header for a model with missing shards. Returns 0, or -errno with err
 * set. */
static int look_for_header(const char *directory, char *given, bool mounted,
			   struct shard_candidate *candidate, struct error *err)
{
	const struct shards alone = { .set = fd_cache_new(1),
				      .organs = &(struct organ_files){ 0 },
				      .header = given,
				      .mounted = mounted };
	struct error header = { 0 };
	int rc = 0;

	if (given)
		candidate->path = strdup(given);
	else if (asprintf(&candidate->path, "%s/" HEADER_FILE, directory) < 0)
		candidate->path = NULL;
	if (!candidate->path || !alone.set)
		rc = error_errno(err, ENOMEM);
	else if (stat(candidate->path, &candidate->seen) < 0)
		rc = given || errno != ENOENT ? error_set(err, errno, ERROR_NO_OFFSET, "%s: %s",
							  candidate->path, strerror(errno))
					      : 0;
	else if (candidate->seen.st_size || given)
		candidate->part = shard_file_open(&alone, 0, candidate, &header);
	/* A damaged header in the directory counts as missing; scan_all() records the reason. */
	if (given && rc == 0 && !candidate->part)
		rc = error_set(err, header.code, header.offset, "%.120s: %s", candidate->path,
			       header.text);
	fd_cache_unref(alone.set);
	return rc;
}

struct shards *shards_find_organs(const char *directory, const char *header, bool mounted,
				  struct error *err)
{
	struct shard_candidate first = { .path = NULL };
	struct shards_kind kind = { .stem = directory, .mounted = mounted };
	struct shards *shards = NULL;
	char *given = header ? absolute(header) : NULL;

	if (look_for_header(directory, given, mounted, &first, err) == 0)
		kind.organs =
			organ_files_find(directory, first.part ? first.part->gguf : NULL, err);
	if (kind.organs) {
		kind.header = given;
		kind.count = kind.organs->n + 1;
		kind.total = kind.organs->n;
		shards = shards_new(&kind);
		if (first.part)
			first.part->split = (struct split){ 0, kind.count, kind.total };
		if (shards)
			shards = scan_all(shards, &first, 1, NULL);
		if (!shards)
			error_errno(err, ENOMEM);
	}
	organ_files_unref(kind.organs);
	shard_file_unref(first.part);
	free(first.path);
	free(given);
	return shards;
}

bool shards_are_organs(const struct shards *shards)
{
	return shards->organs != NULL;
}

/* Keep the header of shard 0, which has the model's metadata, after the file is gone. */
static void keep_head(struct shard_file *part)
{
	const size_t n = (size_t)part->gguf->infos_end;
	uint8_t *bytes = part->split.no == 0 && !part->head.bytes ? malloc(n) : NULL;

	if (bytes && backing_read(part->file, bytes, n, 0) == 0)
		part->head = (struct shards_backing_head){ bytes, n };
	else
		free(bytes);
}

void shards_revoke_gone(struct shards *shards)
{
	for (uint32_t k = 0; k < shards->count; k++)
		if (shards->parts[k] && shards->gone[k])
			backing_revoke(shards->parts[k]->file);
}

bool shards_same(const struct shards *a, const struct shards *b)
{
	for (size_t i = 0; i < a->n_candidates; i++)
		if (!paths_same_file(&a->candidates[i].seen, &b->candidates[i].seen))
			return false;
	return true;
}

/* Keep the shards of old whose files are gone. Returns whether the sets differ. */
static bool keep_gone(struct shards *shards, const struct shards *old)
{
	bool news = false;

	for (uint32_t k = 0; k < shards->count; k++) {
		if (!shards->parts[k] && old->parts[k]) {
			shards->parts[k] = shard_file_ref(old->parts[k]);
			shards->gone[k] = true;
			if (!old->gone[k])
				keep_head(shards->parts[k]);
		}
		news |= shards->parts[k] != old->parts[k] || shards->gone[k] != old->gone[k];
	}
	return news;
}

struct shards *shards_rescan(struct shards *old)
{
	struct shard_candidate *candidates;
	struct shards *shards;

	/* A set on a server is complete, so it is not scanned again. */
	if (old->tail)
		return NULL;
	shards = shards_new(&(struct shards_kind){ .stem = old->stem,
						   .header = old->header,
						   .count = old->count,
						   .total = old->total,
						   .set = old->set,
						   .organs = old->organs,
						   .mounted = old->mounted });
	if (shards)
		shards = scan_all(shards, old->candidates, old->n_candidates,
				  old->candidates[0].path);
	if (!shards || keep_gone(shards, old))
		return shards;
	/* The set is unchanged, but reasons of unused candidates may have changed. */
	pthread_mutex_lock(&old->lock);
	candidates = old->candidates;
	old->candidates = shards->candidates;
	shards->candidates = candidates;
	pthread_mutex_unlock(&old->lock);
	shards_unref(shards);
	return NULL;
}
