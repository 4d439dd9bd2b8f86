/* SPDX-License-Identifier: MIT */
/* shards_join.c - see shards.h: how many there are, and the model that they are together. */
#include "fs/joined.h"
#include "fs/shards_internal.h"

#include <errno.h>
#include <stdlib.h>

uint32_t shards_count(const struct shards *shards)
{
	return shards->count;
}

bool shards_there(const struct shards *shards, uint32_t no)
{
	return shards->parts[no] && !shards->gone[no];
}

uint32_t shards_tensors(const struct shards *shards)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < shards->count; k++)
		n += shards_there(shards, k) ? shards->parts[k]->gguf->n_tensors : 0;
	return n;
}

uint64_t shards_total(const struct shards *shards)
{
	return shards->total;
}

bool shards_complete(const struct shards *shards)
{
	for (uint32_t k = 0; k < shards->count; k++)
		if (!shards_there(shards, k))
			return false;
	return !shards->total || shards_tensors(shards) == shards->total;
}

bool shards_has_file(const struct shards *shards, const struct stat *stat)
{
	for (uint32_t k = 0; k < shards->count; k++) {
		const struct stat *one =
			shards->parts[k] ? backing_stat(shards->parts[k]->file) : NULL;

		if (one && one->st_dev == stat->st_dev && one->st_ino == stat->st_ino)
			return true;
	}
	return false;
}

int shards_join(const struct shards *shards, struct backing **file, struct gguf **gguf,
		struct error *err)
{
	const struct gguf **ggufs = calloc(shards->count, sizeof(const struct gguf *));
	struct backing **files = calloc(shards->count, sizeof(struct backing *));
	struct join join = { 0 }, kept;
	struct source source;
	int rc = ggufs && files ? 0 : error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");

	*file = NULL;
	*gguf = NULL;
	for (uint32_t k = 0; rc == 0 && k < shards->count; k++) {
		ggufs[k] = shards->parts[k] ? shards->parts[k]->gguf : NULL;
		files[k] = shards->parts[k] ? shards->parts[k]->file : NULL;
	}
	if (rc == 0)
		rc = join_build(ggufs, shards->count, &join, err);
	if (rc == 0) {
		/* The backing's, which keeps it as long as it lives. */
		kept = join;
		*file = joined_new(&join, files, shards->count);
		if (!*file)
			rc = error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	}
	if (rc == 0) {
		source = backing_source(*file);
		*gguf = join_read(&kept, &source, err);
		rc = *gguf ? 0 : -err->code;
	}
	if (rc < 0) {
		backing_unref(*file);
		*file = NULL;
	}
	free(ggufs);
	free(files);
	return rc;
}
