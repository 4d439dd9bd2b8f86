/* SPDX-License-Identifier: MIT */
/* shard_candidate.c - see shard_candidate.h. */
#include "fs/base/shard_candidate.h"
#include "fs/base/organ_files.h"
#include "fs/base/shards_internal.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/gather.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shard_file_unref(struct shard_file *part)
{
	if (!part || atomic_fetch_sub(&part->refs, 1) != 1)
		return;
	gguf_free(part->gguf);
	backing_unref(part->file);
	free((uint8_t *)part->head.bytes);
	free(part->path);
	free(part);
}

struct shard_file *shard_file_ref(struct shard_file *part)
{
	if (part)
		atomic_fetch_add(&part->refs, 1);
	return part;
}

/* Parse the organ file of candidate number i as shard number i. */
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
	/* The header was added or changed after the mount began. */
	if (i == 0 && part->gguf && organs->entries && !organ_files_are_of(organs, part->gguf)) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "its tensors have changed: mount the model again");
		gguf_free(part->gguf);
		part->gguf = NULL;
	}
}

static void read_shard(const struct source *source, struct shard_file *part, struct error *err)
{
	part->gguf = gguf_read(source, err);
	if (!part->gguf || gguf_split(part->gguf, &part->split))
		return;
	error_set(err, EBADMSG, ERROR_NO_OFFSET, "not a shard of a split model");
	gguf_free(part->gguf);
	part->gguf = NULL;
}

/* Open a candidate's file. The path of shards is resolved, and that of organ files is unless the
 * directory of a class is a symbolic link. */
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

struct shard_file *shard_file_open(const struct shards *shards, size_t i,
				   const struct shard_candidate *candidate, struct error *err)
{
	struct shard_file *part = calloc(1, sizeof(*part));
	struct source source;

	if (!part) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	atomic_init(&part->refs, 1);
	part->path = strdup(candidate->path);
	if (part->path)
		part->file = open_candidate(shards, i, candidate, err);
	else
		error_errno(err, ENOMEM);
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
	shard_file_unref(part);
	return NULL;
}

bool shard_candidate_reject(struct shard_candidate *candidate, const char *format, ...)
{
	va_list arguments;

	free(candidate->why);
	va_start(arguments, format);
	if (vasprintf(&candidate->why, format, arguments) < 0)
		candidate->why = NULL;
	va_end(arguments);
	return false;
}

/* aria2 allocates the whole file, and keeps a control file until the download is complete. */
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

/* Look for the candidate's file. If a network filesystem does not answer, the candidate keeps its
 * previous shard, and the function returns false. */
static bool find_file(const struct shard_candidate *before, struct shard_candidate *candidate)
{
	if (stat(candidate->path, &candidate->seen) == 0)
		return true;
	candidate->seen = (struct stat){ .st_ino = 0 };
	if (errno == ENOENT || errno == ENOTDIR)
		return false;
	if (!before || !before->part)
		shard_candidate_reject(candidate, "%s", strerror(errno));
	if (before) {
		candidate->seen = before->seen;
		candidate->part = shard_file_ref(before->part);
	}
	return false;
}

/* Open an organ file without stat(), if the listing of its directory shows a regular file. Returns
 * false if the caller has to look for the file. */
static bool open_listed(const struct shards *shards, size_t i)
{
	struct shard_candidate *candidate = &shards->candidates[i];
	const struct organ_files *organs = shards->organs;
	struct error err = { 0 };

	if (!organs || i == 0 || organs->linked || !organs->entries[i - 1].listed_regular)
		return false;
	candidate->part = shard_file_open(shards, i, candidate, &err);
	if (candidate->part)
		candidate->seen = *backing_stat(candidate->part->file);
	return candidate->part;
}

void shard_candidate_scan(const struct shards *shards, size_t i,
			  const struct shard_candidate *before)
{
	struct shard_candidate *candidate = &shards->candidates[i];
	struct error err = { 0 };
	char text[320];

	if (!before && open_listed(shards, i))
		return;
	if (!shards->tail && !find_file(before, candidate))
		return;
	/* Parse a file again that was not a shard before, because the reason may be gone although
	 * its bytes are the same. */
	if (before && before->part && paths_same_file(&before->seen, &candidate->seen) &&
	    !backing_is_revoked(before->part->file)) {
		candidate->part = shard_file_ref(before->part);
		return;
	}
	if (!shards->organs && !shards->tail && is_being_fetched(candidate->path)) {
		shard_candidate_reject(candidate, "it is being fetched");
		return;
	}
	candidate->part = shard_file_open(shards, i, candidate, &err);
	if (!candidate->part)
		shard_candidate_reject(candidate, "%s", error_describe(&err, text, sizeof(text)));
}

/* The path or URL of candidate number i, to free. NULL: out of memory. */
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

bool shard_candidate_place(const struct shards *shards, size_t i, const char *path)
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
