/* SPDX-License-Identifier: MIT */
/* orthonormal.h - columns made orthogonal to each other and of length 1, by the modified method of
 * Gram and Schmidt, twice: once leaves an error that grows with how alike the columns are (Giraud,
 * Langou, Rozloznik, "The loss of orthogonality in the Gram-Schmidt process", 2005). */
#ifndef MEASURE_ORTHONORMAL_H
#define MEASURE_ORTHONORMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of a matrix of rows x columns finite values, one row after the other. A column that is
 * one of those before it, or a mixture of them, becomes zeros. scratch has room for 2 * columns.
 * wanted, which may be NULL, is asked now and then. False: the result is not wanted any more. */
bool orthonormalise(double *matrix, size_t rows, size_t columns, double *scratch,
		    bool (*wanted)(void *context), void *context);

#endif
