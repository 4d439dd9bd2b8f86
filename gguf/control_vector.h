/* SPDX-License-Identifier: MIT */
/* control_vector.h - control vectors as GGUF files, in the format of llama.cpp's cvector-generator
 * and repeng: general.architecture is "controlvector", and each tensor direction.N (F32) is added
 * by llama.cpp to the output of block N. A direction has a value for each channel of the residual
 * stream; here it may have several rows, which span a subspace.
 *
 * A direction is projected out of the tensors that write to the residual stream: the block tensors
 * whose rows are channels, their biases, and token embeddings, each row of which contains all
 * channels. */
#ifndef GGUF_CONTROL_VECTOR_H
#define GGUF_CONTROL_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct gguf;
struct gguf_tensor;
struct organ;
struct source;

/* most rows of a direction */
#define CONTROL_VECTOR_ROWS_MAX 64u

/* Most values of a direction, and most values of a tensor's row times rows of the direction, as so
 * many floats are held in memory. */
#define CONTROL_VECTOR_VALUES_MAX ((uint64_t)1 << 20)

/* Is the first tensor of the file named direction.N? */
bool control_vector_is(const struct gguf *gguf);

/* Check that the file contains only directions, of equal row length, without values that are not
 * finite and without rows of zeros. source has the file's bytes. Returns 0, or -EINVAL or -EIO with
 * err set. */
int control_vector_check(const struct gguf *vector, const struct source *source, struct error *err);

/* The direction for the model's tensor with that name: direction.N for block N, direction.0 for the
 * token embedding. *by_row: each row of the tensor contains all channels. Borrowed. NULL: the
 * tensor does not write to the residual stream, or the file lacks the direction. */
const struct gguf_tensor *control_vector_direction(const struct gguf *vector, const char *name,
						   size_t length, bool *by_row);

/* Check that the direction, of a checked file, fits the shape and the name of the organ. Returns 0,
 * or -EINVAL with err set. */
int control_vector_fits(const struct gguf_tensor *direction, const struct organ *organ, bool by_row,
			struct error *err);

#endif
