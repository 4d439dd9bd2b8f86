/* SPDX-License-Identifier: MIT */
/* shards_join.c - see shards.h: how many there are, and the model that they are together. */
#include "fs/base/shards_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t shards_count(const struct shards *shards)
{
	return shards->count;
}

bool shards_is_present(const struct shards *shards, uint32_t no)
{
	return shards->parts[no] && !shards->gone[no];
}

uint32_t shards_tensor_count(const struct shards *shards)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < shards->count; k++)
		n += shards_is_present(shards, k) ? shards->parts[k]->gguf->n_tensors : 0;
	return n;
}

uint64_t shards_tensor_total(const struct shards *shards)
{
	return shards->total;
}

bool shards_are_complete(const struct shards *shards)
{
	for (uint32_t k = 0; k < shards->count; k++)
		if (!shards_is_present(shards, k))
			return false;
	return !shards->total || shards_tensor_count(shards) == shards->total;
}

bool shards_find_tensor(const struct shards *shards, const char *name, size_t n, uint32_t *no)
{
	for (uint32_t k = 0; k < shards->count; k++) {
		if (!shards->parts[k] || !gguf_tensor(shards->parts[k]->gguf, name, n))
			continue;
		*no = k;
		return true;
	}
	return false;
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

/* The head of the joined file: a shard that is gone has no data to read beyond it. */
struct head {
	struct backing *file;
	uint64_t end;
};

static int read_head(void *context, void *bytes, size_t n, uint64_t offset)
{
	const struct head *head = context;
	const uint64_t left = offset < head->end ? head->end - offset : 0;
	const size_t part = left < n ? (size_t)left : n;

	memset((uint8_t *)bytes + part, 0, n - part);
	return part ? backing_read(head->file, bytes, part, offset) : 0;
}

/* Its metadata cannot be read any more if nobody kept it. */
static const struct gguf *gguf_of(const struct shards *shards, uint32_t k)
{
	if (k == 0 && shards->parts[0] && shards->gone[0] && !shards->parts[0]->head.bytes)
		return NULL;
	return shards->parts[k] ? shards->parts[k]->gguf : NULL;
}

/* Where the first that can be read was looked for: there the others are found too. */
static const char *path_of(const struct shards *shards, struct backing *const *files)
{
	for (uint32_t k = 0; k < shards->count; k++)
		if (files[k])
			return shards->parts[k]->path;
	return shards->candidates[0].path;
}

static int join_files(const struct shards *shards, struct join *join, struct backing *const *files,
		      struct backing **file, struct gguf **gguf, struct error *err)
{
	static const struct shards_backing_head none;
	/* The backing's, which keeps it as long as it lives. */
	const struct join kept = *join;
	const struct shard_file *first = shards->parts[0];
	struct head head = { .end = join->head_end };
	const struct source source = { read_head, &head, join->size };

	*file = shards_backing_new(join, files, shards->count,
				   first && shards->gone[0] ? &first->head : &none,
				   path_of(shards, files));
	if (!*file)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	head.file = *file;
	*gguf = join_read(&kept, &source, err);
	if (*gguf)
		return 0;
	backing_unref(*file);
	*file = NULL;
	return -err->code;
}

int shards_join(const struct shards *shards, struct backing **file, struct gguf **gguf,
		struct error *err)
{
	const struct gguf **ggufs = calloc(shards->count, sizeof(const struct gguf *));
	struct backing **files = calloc(shards->count, sizeof(struct backing *));
	struct join join = { 0 };
	int rc = ggufs && files ? 0 : error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");

	*file = NULL;
	*gguf = NULL;
	for (uint32_t k = 0; rc == 0 && k < shards->count; k++) {
		ggufs[k] = gguf_of(shards, k);
		files[k] = ggufs[k] ? shards->parts[k]->file : NULL;
	}
	if (rc == 0)
		rc = join_build(ggufs, shards->count, &join, err);
	if (rc == 0)
		rc = join_files(shards, &join, files, file, gguf, err);
	free(ggufs);
	free(files);
	return rc;
}
