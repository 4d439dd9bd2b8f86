/* SPDX-License-Identifier: MIT */
/* importance_matrix.h - an importance matrix on disk, and the weights that it has for the columns
 * of a tensor (gguf/importance.h). */
#ifndef FS_TENSOR_IMPORTANCE_MATRIX_H
#define FS_TENSOR_IMPORTANCE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
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

/* May the organ, under the name of its slot, be encoded in the type: does the encoder need no
 * weights, or does the matrix, which may be NULL, have them? */
bool importance_matrix_allows(const struct importance_matrix *matrix, const struct organ *organ,
			      uint32_t type);

/* The matrix, which may be NULL, if the encoder of the type uses weights and it has them for the
 * organ; else NULL. */
struct importance_matrix *importance_matrix_for(struct importance_matrix *matrix,
						const struct organ *organ, uint32_t type);

/* The weights of one expert, kept from call to call: zeros at first, values to be freed at last. */
struct importance_weights {
	float *values;
	uint64_t expert;
};

/* Encode n rows of values of the organ, from row number first on, each with the weights of its
 * expert; matrix NULL: without weights. Returns 0, -ENOMEM, or -EIO: the weights cannot be
 * read. */
int importance_matrix_encode(const struct importance_matrix *matrix, const struct organ *organ,
			     uint32_t type, uint64_t first, size_t n, const float *values,
			     uint8_t *bytes, struct importance_weights *kept);

/* The mean of all weights that the matrix, which may be NULL, has for the organ; NaN: it has none.
 * Returns 0, or as importance_matrix_read(), or -ENOMEM. */
int importance_matrix_mean(const struct importance_matrix *matrix, const struct organ *organ,
			   double *mean, struct error *err);

#endif
