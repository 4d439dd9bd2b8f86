/* SPDX-License-Identifier: MIT */
/* lora_merge.h - a tensor with low-rank pairs merged into it, as a backing whose rows are made when
 * they are read: W + factor * B A for each pair, in the order of the pairs (measure/lora.h), and
 * then in the type of the result.
 *
 * A pair without A is a control vector (gguf/control_vector.h): its B are the directions, rows of
 * as many values as the residual stream has channels. V are these rows made orthonormal. W becomes
 * W + factor * V' (V W), or W + factor * (W V') V where each row of W has all channels. V W takes a
 * pass over W, as the pairs before it leave W; the first read of a matrix makes that pass. */
#ifndef FS_TENSOR_LORA_MERGE_H
#define FS_TENSOR_LORA_MERGE_H

#include "gguf/types.h"

struct importance_matrix;
struct matrix_cache;

/* A tensor's data: where it lies, and of what type. */
struct lora_merge_data {
	struct backing *file;
	uint64_t offset;
	uint32_t type;
};

struct lora_merge_pair {
	struct lora_merge_data a, b; /* a.file NULL: b has directions */
	uint64_t rank;
	bool flipped; /* pair_is_flipped(); of directions: a row of W has all channels */
	float factor;
};

#define LORA_MERGE_PAIRS_MAX 32

/* What is merged; all of it fits (gguf/pair.h). */
struct lora_merge {
	struct lora_merge_data w;
	uint64_t ne[GGML_AXES]; /* of w and of the result */
	uint32_t type;		/* of the result: encode_fits() */
	/* The weights of the encoder, of the organ with that name; NULL: there are none. */
	struct importance_matrix *importance;
	const char *name;
	uint32_t name_length;
	uint32_t n;
	struct lora_merge_pair pairs[LORA_MERGE_PAIRS_MAX];
};

/* Do both make the same bytes, from the same files? */
bool lora_merge_same(const struct lora_merge *a, const struct lora_merge *b);

/* The bytes of the result. It takes references of its own to the files, to matrices and to the
 * importance matrix, and copies the name; *kept is the merge that it goes by, borrowed. A read
 * fails with -EIO if the weights do not fit the tensor. NULL: out of memory, or the result is too
 * large. */
struct backing *lora_merge_new(const struct lora_merge *merge, struct matrix_cache *matrices,
			       const struct lora_merge **kept);

#endif
