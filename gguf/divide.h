/* SPDX-License-Identifier: MIT */
/* divide.h - the plan for splitting a GGUF into shards: for each shard a list of pieces, each with
 * its source. Reads and writes nothing.
 *
 * Source: gguf-split of llama.cpp. Tensors keep the order of their infos; a shard takes tensors
 * until the sum of their padded sizes would exceed a limit. */
#ifndef GGUF_DIVIDE_H
#define GGUF_DIVIDE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct gguf;

/* split.count is a u16 */
#define DIVIDE_PARTS_MOST 65535u

enum divide_kind {
	DIVIDE_MEMORY, /* bytes of the shard's new header, from offset */
	DIVIDE_WHOLE,  /* bytes of the whole file, from offset */
	DIVIDE_ZEROS,
};

struct divide_piece {
	enum divide_kind kind;
	uint64_t offset, length; /* bytes */
};

struct divide_part {
	uint64_t size; /* size of the shard */
	struct divide_piece *pieces;
	size_t n_pieces;
	uint8_t *header;
	uint32_t first, n_tensors; /* range of the whole file's tensors */
};

struct division {
	uint32_t n;
	struct divide_part *parts;
};

/* Split a file into shards with at most `most` bytes of tensors each. A larger tensor gets a shard
 * of its own. If most is 0, the first shard has the metadata alone and each further one a tensor.
 * Release with divide_release(). Errors: EINVAL no tensors; ENOTSUP version 1, which was never
 * split; EOVERFLOW more than 65,535 shards; ENOMEM. */
int divide_build(const struct gguf *whole, uint64_t most, struct division *division,
		 struct error *err);
void divide_release(struct division *division);

#endif
