/* SPDX-License-Identifier: MIT */
/* jacobi.h - eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations: slow
 * for large ones, and right to the last digits. Golub, Van Loan, Matrix Computations, 8.5. */
#ifndef MEASURE_JACOBI_H
#define MEASURE_JACOBI_H

#include <stdbool.h>
#include <stddef.h>

/* Of a matrix of n x n finite values, which is used up, the eigenvalues, the largest first, into
 * values, and the eigenvectors as columns of vectors, n x n as well. order has room for n. wanted,
 * which may be NULL, is asked now and then. False: the result is not wanted any more. */
bool jacobi_eigen(double *matrix, size_t n, double *values, double *vectors, size_t *order,
		  bool (*wanted)(void *context), void *context);

#endif
