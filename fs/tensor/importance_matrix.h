/* SPDX-License-Identifier: MIT */
/* importance_matrix.h - an importance matrix on disk, as weights for the columns of a tensor
 * (gguf/importance.h). */
#ifndef FS_TENSOR_IMPORTANCE_MATRIX_H
#define FS_TENSOR_IMPORTANCE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backing;
struct error;
struct gguf;
struct organ;

struct importance_matrix; /* reference-counted; any thread may use it */

/* The matrix in a file, and the file parsed, which importance_check() has accepted. The matrix owns
 * both, also on failure. NULL: out of memory. */
struct importance_matrix *importance_matrix_new(struct backing *file, struct gguf *gguf);
struct importance_matrix *importance_matrix_ref(struct importance_matrix *matrix);
void importance_matrix_unref(struct importance_matrix *matrix); /* NULL is fine */

/* Does the matrix, which may be NULL, have weights for an organ with that name and shape? */
bool importance_matrix_has(const struct importance_matrix *matrix, const struct organ *organ);

/* Read the ne[0] weights for the columns of one expert of the organ, for which the matrix has
 * weights. Returns as importance_read(), or -EIO if the file was changed. */
int importance_matrix_read(const struct importance_matrix *matrix, const struct organ *organ,
			   uint64_t expert, float *weights, struct error *err);

/* Can the organ, with its slot's name, be encoded in the type? True if the encoder needs no
 * weights, or the matrix, which may be NULL, has them. */
bool importance_matrix_allows(const struct importance_matrix *matrix, const struct organ *organ,
			      uint32_t type);

/* Returns matrix, if the type's encoder uses weights and the matrix has them for the organ; else
 * NULL. matrix may be NULL. */
struct importance_matrix *importance_matrix_for(struct importance_matrix *matrix,
						const struct organ *organ, uint32_t type);

/* Weights of one expert, reused between calls. Initialise with zeros; free values at the end. */
struct importance_weights {
	float *values;
	uint64_t expert;
};

/* Encode n rows of values of the organ, from row number `first` on, each with its expert's weights;
 * without weights if matrix is NULL. Returns 0, -ENOMEM, or -EIO if the weights cannot be read. */
int importance_matrix_encode(const struct importance_matrix *matrix, const struct organ *organ,
			     uint32_t type, uint64_t first, size_t n, const float *values,
			     uint8_t *bytes, struct importance_weights *kept);

/* The mean of the matrix's weights for the organ; NaN: none, or matrix is NULL. Returns 0, an error
 * of importance_matrix_read(), or -ENOMEM. */
int importance_matrix_mean(const struct importance_matrix *matrix, const struct organ *organ,
			   double *mean, struct error *err);

#endif
