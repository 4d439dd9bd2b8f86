/* SPDX-License-Identifier: MIT */
/* merged.h - a tensor with low-rank pairs merged into it, as a backing whose rows are made when
 * they are read: W + factor * B A for each pair, in the order of the pairs (measure/lora.h), and
 * then in the type of the result. */
#ifndef FS_MERGED_H
#define FS_MERGED_H

#include "fs/tensor/matrix_cache.h"
#include "gguf/types.h"

/* A tensor's data: where it lies, and of what type. */
struct merge_data {
	struct backing *file;
	uint64_t offset;
	uint32_t type;
};

struct merge_pair {
	struct merge_data a, b;
	uint64_t rank;
	bool flipped; /* pair_is_flipped() */
	float factor;
};

#define MERGE_PAIRS_MOST 32

/* What is merged; all of it fits (gguf/pair.h). */
struct merge {
	struct merge_data w;
	uint64_t ne[GGML_AXES]; /* of w and of the result */
	uint32_t type;		/* of the result: F32, F16, BF16, or Q8_0 where rows are blocks */
	uint32_t n;
	struct merge_pair pairs[MERGE_PAIRS_MOST];
};

/* Do both make the same bytes, from the same files? */
bool merge_same(const struct merge *a, const struct merge *b);

/* The type of the result for a tensor of that type and row length: encode_type(), or with f16, F16
 * in place of all but F32. */
uint32_t merge_type(uint32_t type, uint64_t length, bool f16);

/* The bytes of the result. It takes references of its own to the files and to matrices; *kept is
 * the merge that it goes by, borrowed. NULL: out of memory, or the result is too large. */
struct backing *merged_new(const struct merge *merge, struct matrices *matrices,
			   const struct merge **kept);

#endif
