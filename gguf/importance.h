/* SPDX-License-Identifier: MIT */
/* importance.h - importance matrices as written by llama-imatrix: a GGUF whose general.type is
 * "imatrix". For a tensor NAME it has NAME.in_sum2, for each column the sum of squares of the
 * activations that were multiplied with the column, and NAME.counts, the number of terms in these
 * sums. For a stack of experts, each expert has its own sums, one expert after the other, and its
 * own count, or one count serves all. Source: llama.cpp tools/imatrix (the layout) and
 * tools/quantize (the weights). */
#ifndef GGUF_IMPORTANCE_H
#define GGUF_IMPORTANCE_H

#include "types.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct gguf;
struct source;

/* Is the file an importance matrix with tensors? Returns 0, or -EINVAL or -EIO with err set. */
int importance_check(const struct gguf *matrix, const struct source *source, struct error *err);

/* Does the matrix have sums or counts for the tensor with that name of length bytes? */
bool importance_has(const struct gguf *matrix, const char *name, size_t length);

/* Check that sums and counts for a tensor with that name fit its shape, without reading them.
 * Returns 0, or -EINVAL with err set. */
int importance_fits(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], struct error *err);

/* importance_fits(), and check that these sums and counts are finite and not negative. The call
 * reads no more values than the tensor has, while a hostile matrix may claim huge sparse tensors
 * that the model lacks. Returns 0, or -EINVAL or -EIO with err set. */
int importance_check_tensor(const struct gguf *matrix, const struct source *source,
			    const char *name, size_t length, const uint64_t ne[GGML_AXES],
			    struct error *err);

/* The weights, one for each of ne[0] columns, of matrix `number` of the ne[2] matrices of a tensor
 * with that name and shape, for quant_row(). They are bit for bit those of llama-quantize: the sum
 * divided by the rounded count, or 1 if the count is 0. Returns 0, or with err set -EIO or -EINVAL:
 * an error of importance_fits(), or a value that is negative or not finite, which
 * importance_check_tensor() would refuse. */
int importance_read(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], uint64_t expert, float *weights,
		    struct error *err);

#endif
