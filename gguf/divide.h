/* SPDX-License-Identifier: MIT */
/* divide.h - a GGUF cut into shards, as a list of pieces for each that say where every byte of it
 * comes from. Reads nothing, writes nothing.
 *
 * Source: gguf-split of llama.cpp. Tensors stay in the order of their infos; a shard takes them as
 * long as their padded sizes do not exceed a limit together. */
#ifndef GGUF_DIVIDE_H
#define GGUF_DIVIDE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct gguf;

/* The most shards that a model can have: split.count is an u16. */
#define DIVIDE_PARTS_MOST 65535u

enum divide_kind {
	DIVIDE_MEMORY, /* bytes of the part's header, from offset */
	DIVIDE_WHOLE,  /* bytes of the whole file, from offset */
	DIVIDE_ZEROS,
};

struct divide_piece {
	enum divide_kind kind;
	uint64_t offset, length; /* bytes */
};

struct divide_part {
	uint64_t size; /* of the shard */
	struct divide_piece *pieces;
	size_t n_pieces;
	uint8_t *header;
	uint32_t first, n_tensors; /* of the whole file's */
};

struct division {
	uint32_t n;
	struct divide_part *parts;
};

/* Divide a file into shards with at most most bytes of tensors each, a larger tensor having one to
 * itself; most 0: one tensor each, after a first shard with the metadata alone. Release with
 * divide_release(). Errors: EINVAL no tensors, ENOTSUP version 1, which was never split; EOVERFLOW
 * more than 65,535 shards, ENOMEM. */
int divide_build(const struct gguf *whole, uint64_t most, struct division *division,
		 struct error *err);
void divide_release(struct division *division);

#endif
