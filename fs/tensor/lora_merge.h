/* SPDX-License-Identifier: MIT */
/* lora_merge.h - merges low-rank pairs into a tensor: a backing whose rows are computed when read,
 * W + factor * B A for each pair, in the order of the pairs (measure/lora.h), encoded in the type
 * of the result.
 *
 * A pair without A is a control vector (gguf/control_vector.h). Its B contains the directions, rows
 * with a value for each channel of the residual stream; V are these rows, orthonormalised. W
 * becomes W + factor * V' (V W), or W + factor * (W V') V if each row of W contains all channels. V
 * W takes a pass over W, as the pairs before leave it; the first read of a matrix makes that pass.
 *
 * A pair that keeps norms stretches each vector of channels in W, a column or such a row, to its
 * former Euclidean norm, as grimjim's norm-preserving abliteration does (jim-plus/llm-abliteration,
 * sharded_ablate.py, modify_tensor_norm_preserved()): a stretched vector stays orthogonal to the
 * directions. heretic (src/heretic/model.py, row_normalization) keeps the norms along the other
 * axis, which brings some of a direction back. A vector of which a thousandth or less is left is
 * not stretched. */
#ifndef FS_TENSOR_LORA_MERGE_H
#define FS_TENSOR_LORA_MERGE_H

#include "gguf/types.h"

#include <stdbool.h>

struct importance_matrix;
struct matrix_cache;

/* Place and type of a tensor's data. */
struct lora_merge_data {
	struct backing *file;
	uint64_t offset;
	uint32_t type;
};

struct lora_merge_pair {
	struct lora_merge_data a, b; /* a.file is NULL: b contains directions */
	uint64_t rank;
	bool flipped; /* pair_is_flipped(); for directions: each row of W contains all channels */
	float factor;
	bool keeps_norm; /* directions only: restore the norm */
};

#define LORA_MERGE_PAIRS_MAX 32

/* A merge, all parts of which fit (gguf/pair.h). */
struct lora_merge {
	struct lora_merge_data w;
	uint64_t ne[GGML_AXES]; /* shape of w and of the result */
	uint32_t type;		/* type of the result: encode_fits() */
	/* Weights for the encoder, for the organ with that name; NULL: none. */
	struct importance_matrix *importance;
	const char *name;
	uint32_t name_length;
	uint32_t n;
	struct lora_merge_pair pairs[LORA_MERGE_PAIRS_MAX];
};

/* Do both give the same bytes, from the same files? */
bool lora_merge_same(const struct lora_merge *a, const struct lora_merge *b);

/* The bytes of the result. It takes references of the files, the cache and the importance matrix,
 * and copies the name; *kept is its own merge, borrowed. A read fails with -EIO if the weights do
 * not fit the tensor. NULL: out of memory, or the result is too large. */
struct backing *lora_merge_new(const struct lora_merge *merge, struct matrix_cache *matrices,
			       const struct lora_merge **kept);

#endif
