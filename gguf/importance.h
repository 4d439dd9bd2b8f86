/* SPDX-License-Identifier: MIT */
/* importance.h - an importance matrix, as llama-imatrix writes it: a GGUF whose general.type is
 * "imatrix". For a tensor NAME it has NAME.in_sum2, for each column the sum of the squares of what
 * the column was multiplied with, and NAME.counts, the number of terms in each of these sums. Of a
 * stack of experts each expert has sums of its own, one expert after the other, and a count of its
 * own unless the count is one for all.
 * Source: llama.cpp tools/imatrix (the layout) and tools/quantize (the weights). */
#ifndef GGUF_IMPORTANCE_H
#define GGUF_IMPORTANCE_H

#include "types.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct gguf;
struct source;

/* Does the file say that it is an importance matrix? Returns 0, or with err set -EINVAL: it does
 * not, or there are no tensors; -EIO. */
int importance_check(const struct gguf *matrix, const struct source *source, struct error *err);

/* Does the matrix have sums or counts of the tensor with that name of length bytes? */
bool importance_has(const struct gguf *matrix, const char *name, size_t length);

/* Do sums and counts of a tensor with that name fit its shape? Reads none of them. Returns 0, or
 * -EINVAL with err set. */
int importance_fits(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], struct error *err);

/* As importance_fits(), and are these sums and counts finite and not negative? Reads them all. They
 * are no more than the values of the tensor, while a hostile matrix may claim a whole sparse disk
 * for tensors that the model lacks. Returns 0, or with err set -EINVAL, -EIO. */
int importance_check_tensor(const struct gguf *matrix, const struct source *source,
			    const char *name, size_t length, const uint64_t ne[GGML_AXES],
			    struct error *err);

/* The weights of the columns of one matrix of a tensor with that name and shape, number expert of
 * its ne[2], as quant_row() takes them: bit for bit those of llama-quantize, the sum over the
 * rounded count, or 1 if that is 0. There are ne[0] of them. Returns 0, or with err set -EINVAL: as
 * importance_fits(), or a value is negative or not finite, which
 * importance_check_tensor() refuses; -EIO.
 */
int importance_read(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], uint64_t expert, float *weights,
		    struct error *err);

#endif
