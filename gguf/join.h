/* SPDX-License-Identifier: MIT */
/* join.h - the GGUF that the shards of a split model are together, as a list of pieces that say
 * where every byte of it comes from. Reads nothing, writes nothing. */
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
	uint64_t start, length; /* bytes; start: in the joined file */
};

struct join {
	uint64_t size;	   /* of the joined file */
	uint64_t head_end; /* first byte after its tensor infos */
	struct join_piece *pieces;
	size_t n_pieces;
	uint8_t *header;
	struct {
		uint64_t size; /* of the data, bytes */
		uint32_t type;
	} *tensors; /* in their order */
	uint32_t n_tensors;
};

/* Join n shards by their numbers, those that are missing being NULL: the metadata of shard 0, if it
 * is there, without what says how it is split, and the tensors of all, each at the sum of the
 * padded sizes before it. Release with join_release(). Errors: EOVERFLOW it would be too large,
 * ENOTSUP version 1, which was never split, EINVAL there is no shard, ENOMEM. */
int join_build(const struct gguf *const *shards, uint32_t n, struct join *join, struct error *err);
void join_release(struct join *join);

/* Read the joined file from a source of its bytes, as gguf_read() does. Of what comes after
 * head_end the source may give anything. */
struct gguf *join_read(const struct join *join, const struct source *source, struct error *err);

/* The piece with byte at, which is below size. */
const struct join_piece *join_find(const struct join *join, uint64_t at);

#endif
