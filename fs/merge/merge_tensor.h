/* SPDX-License-Identifier: MIT */
/* merge_tensor.h - a tensor merged from several models (measure/merge.h), as a backing whose rows
 * are computed when read, in the type of the result.
 *
 * 1. If the method needs figures of whole tensors, the first read computes them, in one or more
 *    passes over the tensors, and the backing keeps them. Other readers wait for that.
 * 2. If that reader is interrupted, or cannot read a tensor, the next reader continues from there.
 * 3. If all models, and the base if the method uses it, have the same bytes in the type of the
 *    result, and the method leaves equal tensors unchanged, the result has these bytes, and nothing
 *    is decoded.
 * 4. A finite value beyond the range of the result's type becomes its largest value. */
#ifndef FS_MERGE_MERGE_TENSOR_H
#define FS_MERGE_MERGE_TENSOR_H

#include "fs/tensor/codec.h"
#include "gguf/types.h"
#include "measure/merge.h"

struct importance_matrix;

/* Location and type of a tensor's data. */
struct merge_data {
	struct backing *file; /* or NULL */
	uint64_t offset;
	uint32_t type; /* dequant_supported() */
};

/* Longest row, in values, that is merged: several rows of every model are in memory. */
#define MERGE_ROW_MAX ((uint64_t)1 << 20)

struct merge_tensor {
	struct merge_rule rule; /* columns are ne[0], rows all others together */
	uint64_t ne[GGML_AXES]; /* of the inputs and of the result */
	uint32_t type;		/* of the result: as merge_tensor_type() */
	struct merge_data base; /* base model of the method; file NULL if unused */
	struct merge_data inputs[MERGE_INPUTS_MAX];
	/* Importance matrix for the encoder, with the name of the organ in it; or NULL. */
	struct importance_matrix *importance;
	const char *name;
	uint32_t name_length;
};

/* Type of the result for a tensor of the host with that type and shape: wanted; or encode_type() if
 * wanted is MERGE_TYPE_AS_IS, the tensor has only one axis, or its rows are not whole blocks. */
#define MERGE_TYPE_AS_IS UINT32_MAX
uint32_t merge_tensor_type(uint32_t type, const uint64_t ne[GGML_AXES], uint32_t wanted,
			   enum encode_choice choice);

/* Make the backing with the bytes of the result. It takes its own references to the files and to
 * the importance matrix, and copies the name; *kept becomes its copy of the tensor, borrowed.
 * Reads fail with -EIO if the importance matrix does not fit the tensor. NULL: out of memory, or
 * the result is too large. */
struct backing *merge_tensor_new(const struct merge_tensor *tensor,
				 const struct merge_tensor **kept);

#endif
