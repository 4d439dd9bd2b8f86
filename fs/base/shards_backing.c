/* SPDX-License-Identifier: MIT */
/* shards_backing.c - see shards_backing.h. */
#include "fs/base/shards_backing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct shards_backing {
	struct join join;
	struct shards_backing_head head;
	uint32_t n;
	struct backing *files[];
};

static void release(void *context)
{
	struct shards_backing *joined = context;

	for (uint32_t k = 0; k < joined->n; k++)
		backing_unref(joined->files[k]);
	join_release(&joined->join);
	free((uint8_t *)joined->head.bytes);
	free(joined);
}

static int read_piece(struct shards_backing *joined, const struct join_piece *piece, unsigned flags,
		      uint8_t *bytes, size_t n, uint64_t skip)
{
	const struct shards_backing_head *head = &joined->head;
	struct backing *file;

	switch (piece->kind) {
	case JOIN_MEMORY:
		memcpy(bytes, joined->join.header + piece->offset + skip, n);
		return 0;
	case JOIN_ZEROS:
		memset(bytes, 0, n);
		return 0;
	case JOIN_SHARD:
		break;
	}
	if (piece->shard == 0 && head->bytes && piece->offset + skip + n <= head->length) {
		memcpy(bytes, head->bytes + piece->offset + skip, n);
		return 0;
	}
	file = joined->files[piece->shard];
	return backing_read_with(file, flags, bytes, n, piece->offset + skip);
}

static int read_at(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset)
{
	struct shards_backing *joined = context;
	const struct join *join = &joined->join;
	uint8_t *to = bytes;

	if (offset > join->size || n > join->size - offset)
		return -EIO;
	while (n) {
		const struct join_piece *piece = join_find(join, offset);
		const uint64_t skip = offset - piece->start, left = piece->length - skip;
		const size_t part = left < n ? (size_t)left : n;
		const int rc = read_piece(joined, piece, flags, to, part, skip);

		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

static struct backing *part_at(void *context, uint64_t *offset, uint64_t *length)
{
	const struct shards_backing *joined = context;
	const struct join_piece *piece;
	uint64_t skip;

	if (*offset >= joined->join.size)
		return NULL;
	piece = join_find(&joined->join, *offset);
	skip = *offset - piece->start;
	if (*length > piece->length - skip)
		*length = piece->length - skip;
	if (piece->kind != JOIN_SHARD)
		return NULL;
	*offset = piece->offset + skip;
	return joined->files[piece->shard];
}

static bool copy_head(struct shards_backing *joined, const struct shards_backing_head *head)
{
	uint8_t *bytes = head->bytes ? malloc(head->length + 1) : NULL;

	if (bytes)
		memcpy(bytes, head->bytes, head->length);
	joined->head = (struct shards_backing_head){ bytes, head->length };
	return bytes || !head->bytes;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

struct backing *shards_backing_new(struct join *join, struct backing *const *files, uint32_t n,
				   const struct shards_backing_head *head, const char *path)
{
	struct shards_backing *joined = calloc(1, sizeof(*joined) + n * sizeof(joined->files[0]));
	const struct backing *first = NULL;
	struct stat stat = { 0 };
	struct timespec latest = { 0 };

	if (!joined) {
		join_release(join);
		return NULL;
	}
	joined->join = *join;
	*join = (struct join){ 0 };
	joined->n = n;
	for (uint32_t k = 0; k < n; k++) {
		if (!files[k])
			continue;
		joined->files[k] = backing_ref(files[k]);
		first = first ? first : files[k];
		if (is_later(&backing_stat(files[k])->st_mtim, &latest))
			latest = backing_stat(files[k])->st_mtim;
	}
	if (!copy_head(joined, head)) {
		release(joined);
		return NULL;
	}
	if (first)
		stat = *backing_stat(first);
	stat.st_size = (off_t)joined->join.size;
	stat.st_mtim = latest;
	return backing_from_ops(&(struct backing_ops){ .read = read_at,
						       .part = part_at,
						       .release = release,
						       .context = joined },
				path, &stat);
}
