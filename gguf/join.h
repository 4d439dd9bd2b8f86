/* SPDX-License-Identifier: MIT */
/* join.h - the plan for joining the shards of a split model to one GGUF: a list of pieces, each
 * with its source. Reads and writes nothing. */
#ifndef GGUF_JOIN_H
#define GGUF_JOIN_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct gguf;
struct source;

enum join_kind {
	JOIN_MEMORY, /* bytes of join->header, from offset */
	JOIN_SHARD,  /* bytes of a shard, from offset */
	JOIN_ZEROS,
};

struct join_piece {
	enum join_kind kind;
	uint32_t shard;
	uint64_t offset;
	uint64_t start, length; /* bytes; start: offset in the joined file */
};

struct join {
	uint64_t size;	   /* size of the joined file */
	uint64_t head_end; /* end of its tensor infos */
	struct join_piece *pieces;
	size_t n_pieces;
	uint8_t *header;
	struct {
		uint64_t size; /* bytes of the data */
		uint32_t type;
	} *tensors; /* in the joined file's order */
	uint32_t n_tensors;
};

/* Join n shards, given by number, with NULL for missing ones. The result has shard 0's metadata, if
 * shard 0 exists, without the split.* keys, and the tensors of all shards, each at the sum of the
 * padded sizes before it. Release with join_release(). Errors: EOVERFLOW the file would be too
 * large; ENOTSUP version 1, which was never split; EINVAL all shards are missing; ENOMEM. */
int join_build(const struct gguf *const *shards, uint32_t n, struct join *join, struct error *err);
void join_release(struct join *join);

/* gguf_read() for the joined file. The source may return any bytes after head_end. */
struct gguf *join_read(const struct join *join, const struct source *source, struct error *err);

/* The piece that contains byte `at`, which is below size. */
const struct join_piece *join_find(const struct join *join, uint64_t at);

#endif
