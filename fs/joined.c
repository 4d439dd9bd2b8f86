/* SPDX-License-Identifier: MIT */
/* joined.c - see joined.h. */
#include "fs/joined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct joined {
	struct join join;
	uint32_t n;
	struct backing *files[];
};

static void release(void *context)
{
	struct joined *joined = context;

	for (uint32_t k = 0; k < joined->n; k++)
		backing_unref(joined->files[k]);
	join_release(&joined->join);
	free(joined);
}

static int read_piece(struct joined *joined, const struct join_piece *piece, bool spans,
		      uint8_t *bytes, size_t n, uint64_t skip)
{
	struct backing *file;
	int rc;

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
	file = joined->files[piece->shard];
	if (!spans)
		return backing_read(file, bytes, n, piece->offset + skip);
	rc = backing_peek(file, bytes, n, piece->offset + skip);
	return rc < 0 ? rc : backing_check(file);
}

static int read_at(void *context, bool spans, void *bytes, size_t n, uint64_t offset)
{
	struct joined *joined = context;
	const struct join *join = &joined->join;
	uint8_t *to = bytes;

	if (offset > join->size || n > join->size - offset)
		return -EIO;
	while (n) {
		const struct join_piece *piece = join_find(join, offset);
		const uint64_t skip = offset - piece->start, left = piece->length - skip;
		const size_t part = left < n ? (size_t)left : n;
		const int rc = read_piece(joined, piece, spans, to, part, skip);

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
	const struct joined *joined = context;
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

struct backing *joined_new(struct join *join, struct backing *const *files, uint32_t n)
{
	struct joined *joined = calloc(1, sizeof(*joined) + n * sizeof(joined->files[0]));
	const struct backing *first = NULL;
	struct stat stat = { .st_size = (off_t)join->size };

	if (!joined) {
		join_release(join);
		return NULL;
	}
	joined->join = *join;
	*join = (struct join){ 0 };
	joined->n = n;
	for (uint32_t k = 0; k < n; k++) {
		const struct stat *one;

		if (!files[k])
			continue;
		joined->files[k] = backing_ref(files[k]);
		one = backing_stat(files[k]);
		if (!first) {
			first = files[k];
			stat = *one;
			stat.st_size = (off_t)joined->join.size;
		} else if (one->st_mtim.tv_sec > stat.st_mtim.tv_sec ||
			   (one->st_mtim.tv_sec == stat.st_mtim.tv_sec &&
			    one->st_mtim.tv_nsec > stat.st_mtim.tv_nsec)) {
			stat.st_mtim = one->st_mtim;
		}
	}
	return backing_of_parts(&(struct backing_parts){ read_at, part_at, release, joined },
				first ? backing_path(first) : "", &stat);
}
