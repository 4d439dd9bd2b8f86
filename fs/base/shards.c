/* SPDX-License-Identifier: MIT */
/* shards.c - see shards.h: which files are there, and which are the model's. */
#include "fs/base/organ_files.h"
#include "fs/base/shards.h"
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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* split.count is an u16. */
#define COUNT_MAX 65535u

/* Of the descriptors that the process may have, shards take at most this part. */
#define DESCRIPTORS_PART 4

static void part_unref(struct shard_file *part)
{
	if (!part || atomic_fetch_sub(&part->refs, 1) != 1)
		return;
	gguf_free(part->gguf);
	backing_unref(part->file);
	free((uint8_t *)part->head.bytes);
	free(part->path);
	free(part);
}

static struct shard_file *part_ref(struct shard_file *part)
{
	if (part)
		atomic_fetch_add(&part->refs, 1);
	return part;
}

/* What candidate number i of a set of organ files is, as a shard of that number. */
static void read_organ_file(const struct shards *shards, size_t i, const struct source *source,
			    struct shard_file *part, struct error *err)
{
	const struct organ_files *organs = shards->organs;

	part->split = (struct split){ i, shards->count, shards->total };
	part->packed = true;
	if (i == 0 && shards->header)
		part->gguf = gather_read_lent(source, &part->packed, err);
	else if (i == 0)
		part->gguf = gguf_read_header(source, err);
	else if (i <= organs->n)
		part->gguf = gather_read_organ(source, organs->entries[i - 1].tensor,
					       organs->entries[i - 1].length, err);
	else
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "%s", organs->entries[i - 1].why);
	/* Of a header that came, or was changed, since the mount began. */
	if (i == 0 && part->gguf && organs->entries && !organ_files_are_of(organs, part->gguf)) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "it lists other tensors than there were: mount the model again");
		gguf_free(part->gguf);
		part->gguf = NULL;
	}
}

static void read_shard(const struct source *source, struct shard_file *part, struct error *err)
{
	part->gguf = gguf_read(source, err);
	if (!part->gguf || gguf_split(part->gguf, &part->split))
		return;
	error_set(err, EBADMSG, ERROR_NO_OFFSET, "it is no shard of a split model");
	gguf_free(part->gguf);
	part->gguf = NULL;
}

/* The directories of shards, and that of organ files, are resolved; those of its classes are below
 * it, unless they are links. */
static struct backing *open_candidate(const struct shards *shards, size_t i,
				      const struct shard_candidate *candidate, struct error *err)
{
	const bool resolved = !shards->organs || i == 0 || !shards->organs->linked;
	struct backing *file;

	if (candidate->url)
		return backing_open_remote(candidate->url, shards->remote, err);
	file = backing_open_seen(candidate->path, candidate->seen.st_ino ? &candidate->seen : NULL,
				 resolved, err);
	if (file) {
		if (shards->mounted)
			backing_set_passing(file);
		backing_join_cache(file, shards->set,
				   shards->mounted ? FILE_USE_BASE : FILE_USE_DONOR);
	}
	return file;
}

/* Candidate number i. NULL with err set: it is no shard that can be read. */
static struct shard_file *open_part(const struct shards *shards, size_t i,
				    const struct shard_candidate *candidate, struct error *err)
{
	struct shard_file *part = calloc(1, sizeof(*part));
	struct source source;

	if (!part) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	atomic_init(&part->refs, 1);
	part->path = strdup(candidate->path);
	if (part->path)
		part->file = open_candidate(shards, i, candidate, err);
	else
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	if (part->file) {
		source = backing_source(part->file);
		if (shards->organs)
			read_organ_file(shards, i, &source, part, err);
		else
			read_shard(&source, part, err);
		if (!part->gguf && err->code == EIO)
			backing_remote_error(part->file, err);
	}
	if (part->gguf) {
		backing_keep(part->file, part->gguf->data_offset);
		return part;
	}
	part_unref(part);
	return NULL;
}

static struct fd_cache *make_set(void)
{
	struct rlimit limit;
	unsigned most = 4096;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < (rlim_t)most * DESCRIPTORS_PART)
		most = (unsigned)(limit.rlim_cur / DESCRIPTORS_PART);
	return fd_cache_new(most < 4 ? 4 : most);
}

/* Which set it is: as in struct shards, borrowed. */
struct shards_kind {
	const char *stem, *header, *tail;
	uint32_t count;
	uint64_t total;
	struct fd_cache *set; /* NULL: one of its own */
	struct organ_files *organs;
	struct remote_cache *remote; /* NULL: one of its own, if it needs one */
	bool mounted;
};

static struct remote_cache *make_remote(const struct shards_kind *kind)
{
	if (!kind->tail)
		return NULL;
	return kind->remote ? remote_cache_ref(kind->remote) : remote_cache_new();
}

/* Nothing was looked for yet. NULL: out of memory. */
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
		part_unref(shards->candidates[i].part);
		free(shards->candidates[i].why);
		free(shards->candidates[i].path);
		free(shards->candidates[i].url);
	}
	for (uint32_t k = 0; shards->parts && k < shards->count; k++)
		part_unref(shards->parts[k]);
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

/* The candidate is not used, for that reason. Returns false. */
static bool reject(struct shard_candidate *candidate, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool reject(struct shard_candidate *candidate, const char *format, ...)
{
	va_list arguments;

	free(candidate->why);
	va_start(arguments, format);
	if (vasprintf(&candidate->why, format, arguments) < 0)
		candidate->why = NULL;
	va_end(arguments);
	return false;
}

/* aria2 makes a file of its full length first, and keeps account of it beside it. */
static bool is_being_fetched(const char *path)
{
	struct stat status;
	char *account;
	bool fetched;

	if (asprintf(&account, "%s.aria2", path) < 0)
		return false;
	fetched = stat(account, &status) == 0;
	free(account);
	return fetched;
}

/* Is there a file, as far as can be told? A disk far away that does not answer keeps what it had
 * before. */
static bool find_file(const struct shard_candidate *before, struct shard_candidate *candidate)
{
	if (stat(candidate->path, &candidate->seen) == 0)
		return true;
	candidate->seen = (struct stat){ .st_ino = 0 };
	if (errno == ENOENT || errno == ENOTDIR)
		return false;
	if (!before || !before->part)
		reject(candidate, "%s", strerror(errno));
	if (before) {
		candidate->seen = before->seen;
		candidate->part = part_ref(before->part);
	}
	return false;
}

/* What the listing of its directory just said is an organ file needs no stat() before it is opened.
 * False: it is to be looked at as any other. */
static bool open_listed(const struct shards *shards, size_t i)
{
	struct shard_candidate *candidate = &shards->candidates[i];
	const struct organ_files *organs = shards->organs;
	struct error err = { 0 };

	if (!organs || i == 0 || organs->linked || !organs->entries[i - 1].listed_regular)
		return false;
	candidate->part = open_part(shards, i, candidate, &err);
	if (candidate->part)
		candidate->seen = *backing_stat(candidate->part->file);
	return candidate->part;
}

/* See what is there, unless it is what was there before. */
static void scan(const struct shards *shards, size_t i, const struct shard_candidate *before)
{
	struct shard_candidate *candidate = &shards->candidates[i];
	struct error err = { 0 };
	char text[320];

	if (!before && open_listed(shards, i))
		return;
	if (!shards->tail && !find_file(before, candidate))
		return;
	/* What could not be used may be by now, for other reasons than its bytes. */
	if (before && before->part && paths_same_file(&before->seen, &candidate->seen) &&
	    !backing_is_revoked(before->part->file)) {
		candidate->part = part_ref(before->part);
		return;
	}
	if (!shards->organs && !shards->tail && is_being_fetched(candidate->path)) {
		reject(candidate, "it is being fetched");
		return;
	}
	candidate->part = open_part(shards, i, candidate, &err);
	if (!candidate->part)
		reject(candidate, "%s", error_describe(&err, text, sizeof(text)));
}

/* Can it be a shard of this model, and is no other the same one? Else why not is noted. */
static bool belongs(const struct shards *shards, struct shard_candidate *candidate)
{
	const struct split *split = &candidate->part->split;

	if (split->count != shards->count)
		return reject(candidate, "it is of another model: one with %" PRIu64 " shards",
			      split->count);
	if (split->no >= split->count)
		return reject(candidate, "it says that it is shard %" PRIu64 " of %" PRIu64,
			      split->no + 1, split->count);
	if (split->tensors && shards->total && split->tensors != shards->total)
		return reject(candidate,
			      "it is of another model: one with %" PRIu64 " tensors, not %" PRIu64,
			      split->tensors, shards->total);
	if (shards->parts[split->no])
		return reject(candidate,
			      "it says that it is shard %" PRIu64 ", as another file does",
			      split->no + 1);
	return true;
}

/* Is none of its tensors there already? Else which one is noted. */
static bool has_new_tensors(const struct names *names, struct shard_candidate *candidate)
{
	const struct gguf *gguf = candidate->part->gguf;
	uint32_t number;

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];

		if (names_find(names, t->name, t->name_length, &number))
			return reject(candidate,
				      "its tensor \"%.80s\" is in shard %" PRIu32 " as well",
				      t->name, number + 1);
	}
	return true;
}

/* Put the shard of a candidate among those of the model, if it belongs there. -ENOMEM. */
static int use(struct shards *shards, struct shard_candidate *candidate, struct names *names)
{
	const struct shard_file *part = candidate->part;
	const uint32_t no = (uint32_t)part->split.no;
	/* Those that a header lists are in the files after it. */
	const uint32_t n = shards->organs && no == 0 ? 0 : part->gguf->n_tensors;

	if (!belongs(shards, candidate) || !has_new_tensors(names, candidate))
		return 0;
	shards->parts[no] = part_ref(candidate->part);
	if (!shards->total)
		shards->total = part->split.tensors;
	for (uint32_t i = 0; i < n; i++) {
		const struct gguf_tensor *t = &part->gguf->tensors[i];

		if (names_add(names, t->name, t->name_length, no) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Of two that have the same number, the one that is also named so is the shard. */
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

/* Where candidate number i is looked for, to free; path: of the one that has no stem. NULL: out of
 * memory. */
static char *candidate_path(const struct shards *shards, size_t i, const char *path)
{
	char *text;
	int n;

	if (!shards->stem)
		return strdup(path);
	if (i == 0 && shards->header)
		return strdup(shards->header);
	if (shards->organs)
		n = asprintf(&text, "%s/%s", shards->stem,
			     i ? shards->organs->entries[i - 1].file : HEADER_FILE);
	else
		n = asprintf(&text, "%s-%05zu-of-%05" PRIu32 ".gguf%s", shards->stem, i + 1,
			     shards->count, shards->tail ? shards->tail : "");
	return n < 0 ? NULL : text;
}

/* Where the candidate is looked for, and what of that may be shown. False: out of memory. */
static bool place(const struct shards *shards, size_t i, const char *path)
{
	struct shard_candidate *candidate = &shards->candidates[i];
	char *where = candidate_path(shards, i, path);

	if (!shards->tail) {
		candidate->path = where;
		return where != NULL;
	}
	candidate->url = where;
	candidate->path = where ? url_shown(where) : NULL;
	return candidate->path != NULL;
}

/* Look at all candidates, of which the first n were looked at before. path: as candidate_path().
 * NULL: out of memory. */
static struct shards *scan_all(struct shards *shards, const struct shard_candidate *before,
			       size_t n, const char *path)
{
	bool whole = true;

	for (size_t i = 0; whole && i < shards->n_candidates; i++) {
		whole = place(shards, i, path);
		if (whole)
			scan(shards, i, i < n ? &before[i] : NULL);
		/* Of those at a URL all are needed: one that is missing is enough to know. */
		if (whole && shards->tail && !shards->candidates[i].part)
			break;
	}
	if (whole && use_all(shards) == 0)
		return shards;
	shards_unref(shards);
	return NULL;
}

/* The path up to the numbers, to free. NULL: it is not named as a shard of so many is. */
static char *stem_of(const char *path, uint32_t count)
{
	const char *name = basename(path);
	const size_t n = paths_shard_prefix(name);

	if (n == 0 || strtoul(name + n + sizeof("-00000-of-") - 1, NULL, 10) != count)
		return NULL;
	return strndup(path, (size_t)(name - path) + n);
}

/* It stays when the working directory changes. To free. */
static char *absolute(const char *path)
{
	char *directory = paths_directory(path), *whole;
	int n = -1;

	if (directory)
		n = asprintf(&whole, "%s/%s", directory[1] ? directory : "", basename(path));
	free(directory);
	return n < 0 ? NULL : whole;
}

/* Those at a URL are all there, with all tensors, or err says what is not, and shards is
 * released. */
static struct shards *require_all(struct shards *shards, struct error *err)
{
	char *text;

	for (uint32_t k = 0; k < shards->count; k++) {
		const char *why = k < shards->n_candidates ? shards->candidates[k].why : NULL;
		char name[NAME_MAX + 1];

		if (shards->parts[k])
			continue;
		error_set(err, ENODATA, ERROR_NO_OFFSET, "%.100s: %s",
			  shards_filename(shards, k, name), why ? why : "it is missing");
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

/* The same at a URL. NULL with err set. */
static struct shards *find_remote(const char *url, const struct split *split,
				  struct remote_cache *remote, struct error *err)
{
	const char *tail = url_name_end(url);
	char *path = strndup(url, (size_t)(tail - url));
	char *stem = path ? stem_of(path, (uint32_t)split->count) : NULL;
	struct shards *shards = NULL;

	if (path)
		shards = shards_new(&(struct shards_kind){ .stem = stem,
							   .tail = tail,
							   .count = (uint32_t)split->count,
							   .total = split->tensors,
							   .remote = remote });
	if (shards)
		shards = scan_all(shards, NULL, 0, url);
	free(stem);
	free(path);
	if (shards)
		return require_all(shards, err);
	error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return NULL;
}

struct shards *shards_find(const char *given, const struct split *split,
			   struct remote_cache *remote, bool mounted, struct error *err)
{
	struct shards *shards = NULL;
	char *path, *stem;

	if (split->count > COUNT_MAX || split->no >= split->count) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "it says that it is shard %" PRIu64 " of %" PRIu64, split->no + 1,
			  split->count);
		return NULL;
	}
	if (url_is_remote(given))
		return find_remote(given, split, remote, err);
	path = absolute(given);
	stem = path ? stem_of(path, (uint32_t)split->count) : NULL;
	if (path)
		shards = shards_new(&(struct shards_kind){ .stem = stem,
							   .count = (uint32_t)split->count,
							   .total = split->tensors,
							   .mounted = mounted });
	if (shards)
		shards = scan_all(shards, NULL, 0, path);
	free(stem);
	free(path);
	if (!shards)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return shards;
}

/* The header of organ files in a directory: without part there is none. That of a model with
 * missing shards is empty. Returns 0 or -errno with err set. */
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
		rc = error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	else if (stat(candidate->path, &candidate->seen) < 0)
		rc = given || errno != ENOENT ? error_set(err, errno, ERROR_NO_OFFSET, "%s: %s",
							  candidate->path, strerror(errno))
					      : 0;
	else if (candidate->seen.st_size || given)
		candidate->part = open_part(&alone, 0, candidate, &header);
	/* Its own, if it is damaged, is missing; scan_all() notes why. */
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
			error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	}
	organ_files_unref(kind.organs);
	part_unref(first.part);
	free(first.path);
	free(given);
	return shards;
}

bool shards_are_organs(const struct shards *shards)
{
	return shards->organs != NULL;
}

/* The metadata of the model, which shard 0 has, stays known, and the list of organ files. */
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

/* What old had and is not there any more stays known. Returns whether there is anything new. */
static bool keep_gone(struct shards *shards, const struct shards *old)
{
	bool news = false;

	for (uint32_t k = 0; k < shards->count; k++) {
		if (!shards->parts[k] && old->parts[k]) {
			shards->parts[k] = part_ref(old->parts[k]);
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

	/* No server is asked again: all of them were there. */
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
	/* It is the same set, but why the others are missing may have changed. */
	pthread_mutex_lock(&old->lock);
	candidates = old->candidates;
	old->candidates = shards->candidates;
	shards->candidates = candidates;
	pthread_mutex_unlock(&old->lock);
	shards_unref(shards);
	return NULL;
}
