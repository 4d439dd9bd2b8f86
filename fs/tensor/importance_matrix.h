/* SPDX-License-Identifier: MIT */
/* importance_matrix.h - an importance matrix on disk, and the weights that it has for the columns
 * of a tensor (gguf/importance.h). */
#ifndef FS_TENSOR_IMPORTANCE_MATRIX_H
#define FS_TENSOR_IMPORTANCE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

struct backing;
struct error;
struct gguf;
struct organ;

struct importance_matrix; /* counted; any thread may use it */

/* The matrix in a file, and the tensors parsed from it, which importance_check() took. Both become
 * the matrix's, also on failure. NULL: out of memory. */
struct importance_matrix *importance_matrix_new(struct backing *file, struct gguf *gguf);
struct importance_matrix *importance_matrix_ref(struct importance_matrix *matrix);
void importance_matrix_unref(struct importance_matrix *matrix); /* NULL is fine */

/* Does the matrix, which may be NULL, have weights for an organ of that name and shape? */
bool importance_matrix_has(const struct importance_matrix *matrix, const struct organ *organ);

/* The ne[0] weights of the columns of one expert of the organ, for which the matrix has weights.
 * Returns as importance_read(), with -EIO if the file was changed. */
int importance_matrix_read(const struct importance_matrix *matrix, const struct organ *organ,
			   uint64_t expert, float *weights, struct error *err);

/* The mean of all weights that the matrix, which may be NULL, has for the organ; NaN: it has none.
 * Returns 0, or as importance_matrix_read(), or -ENOMEM. */
int importance_matrix_mean(const struct importance_matrix *matrix, const struct organ *organ,
			   double *mean, struct error *err);

#endif
