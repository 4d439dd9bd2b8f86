/* SPDX-License-Identifier: MIT */
/* orthonormal.h - orthonormal columns by the modified Gram-Schmidt process, run twice, because the
 * error of a single run grows with the similarity of the columns (Giraud, Langou, Rozloznik, "The
 * loss of orthogonality in the Gram-Schmidt process", 2005). */
#ifndef MEASURE_ORTHONORMAL_H
#define MEASURE_ORTHONORMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Make the columns of a matrix of rows x columns finite values, in row order, orthonormal. A column
 * that depends linearly on those before it becomes zeros. scratch has room for 2 * columns. wanted,
 * which may be NULL, is called now and then. False: it returned false. */
bool orthonormalise(double *matrix, size_t rows, size_t columns, double *scratch,
		    bool (*wanted)(void *context), void *context);

#endif
