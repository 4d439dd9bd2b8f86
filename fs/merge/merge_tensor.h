/* SPDX-License-Identifier: MIT */
/* merge_tensor.h - a tensor of several models merged into one (measure/merge.h), as a backing whose
 * rows are made when they are read, in the type of the result.
 *
 * 1. What the method needs whole tensors for is found by the first read, once, with as many passes
 *    over the tensors as that takes, and kept as long as the backing. Other readers wait for it.
 * 2. A reader that is interrupted, or cannot read a tensor, gives up; the next one goes on from
 *    there.
 * 3. Where all models, and the base if the method uses it, have the very same bytes, in the type of
 *    the result, and the method changes nothing of what is equal, these are the result's, and
 *    nothing is decoded.
 * 4. A value of the result that is finite, but larger than its type holds, becomes the largest. */
#ifndef FS_MERGE_MERGE_TENSOR_H
#define FS_MERGE_MERGE_TENSOR_H

#include "fs/tensor/codec.h"
#include "gguf/types.h"
#include "measure/merge.h"

struct importance_matrix;

/* A tensor's data: where it lies, and of what type. */
struct merge_data {
	struct backing *file; /* NULL: there is none */
	uint64_t offset;
	uint32_t type; /* dequant_supported() */
};

/* Longer rows are not merged: of every model several are in memory. */
#define MERGE_ROW_MAX ((uint64_t)1 << 20)

struct merge_tensor {
	struct merge_rule rule; /* columns are ne[0], rows all others together */
	uint64_t ne[GGML_AXES]; /* of all of them and of the result */
	uint32_t type;		/* of the result: as merge_tensor_type() */
	struct merge_data base; /* of the method; file NULL where it has none */
	struct merge_data inputs[MERGE_INPUTS_MAX];
	/* The weights of the encoder, of the organ with that name; NULL: there are none. */
	struct importance_matrix *importance;
	const char *name;
	uint32_t name_length;
};

/* The type of the result for a tensor of that type and shape in the model that gives the form:
 * wanted, unless that is MERGE_TYPE_AS_IS, the tensor has only one axis, or its rows are not whole
 * blocks; else encode_type(). */
#define MERGE_TYPE_AS_IS UINT32_MAX
uint32_t merge_tensor_type(uint32_t type, const uint64_t ne[GGML_AXES], uint32_t wanted,
			   enum encode_choice choice);

/* The bytes of the result. It takes references of its own to the files and to the importance
 * matrix, and copies the name; *kept is the tensor that it goes by, borrowed. A read fails with
 * -EIO if the weights do not fit the tensor. NULL: out of memory, or the result is too large. */
struct backing *merge_tensor_new(const struct merge_tensor *tensor,
				 const struct merge_tensor **kept);

#endif
