/* SPDX-License-Identifier: MIT */
/* control_vector.h - a control vector as a GGUF, as llama.cpp's cvector-generator and repeng write
 * it: general.architecture is "controlvector", and each tensor is direction.N, F32, which llama.cpp
 * adds to the output of block N. A direction has a value for each channel of the residual stream;
 * here it may have several rows of them, which together span a subspace.
 *
 * A direction is taken out of the tensors that write to the residual stream: of blocks those in
 * which channels are rows, in their biases and in token embeddings a row has all channels. */
#ifndef GGUF_CONTROL_VECTOR_H
#define GGUF_CONTROL_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct gguf;
struct gguf_tensor;
struct organ;
struct source;

/* So many rows a direction may have. */
#define CONTROL_VECTOR_ROWS_MAX 64u

/* A direction may have so many values, and a row of a tensor, times the rows of the direction. As
 * many floats are in memory. */
#define CONTROL_VECTOR_VALUES_MAX ((uint64_t)1 << 20)

/* Is the first tensor of the file a direction? */
bool control_vector_is(const struct gguf *gguf);

/* Has the file nothing but directions with rows of one length, all values finite and no row zeros?
 * source has its bytes. Returns 0, or with err set -EINVAL or -EIO. */
int control_vector_check(const struct gguf *vector, const struct source *source, struct error *err);

/* The direction that is taken out of a model's tensor with that name: direction.N of block N,
 * direction.0 of the token embedding. *by_row: a row of the tensor has all channels. NULL: the
 * tensor does not write to the residual stream, or the file has no such direction. Borrowed. */
const struct gguf_tensor *control_vector_direction(const struct gguf *vector, const char *name,
						   size_t length, bool *by_row);

/* Can that direction of a checked file be taken out of that organ, whose name is the one that
 * counts? Returns 0, or -EINVAL with err set. */
int control_vector_fits(const struct gguf_tensor *direction, const struct organ *organ, bool by_row,
			struct error *err);

#endif
