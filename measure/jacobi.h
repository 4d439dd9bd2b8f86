/* SPDX-License-Identifier: MIT */
/* jacobi.h - eigenvalues and eigenvectors of a small symmetric matrix by Jacobi rotations: slow for
 * large matrices, accurate to the last digits. Golub, Van Loan, Matrix Computations, 8.5. */
#ifndef MEASURE_JACOBI_H
#define MEASURE_JACOBI_H

#include <stdbool.h>
#include <stddef.h>

/* Compute the eigenvalues of a matrix of n x n finite values, in descending order, to values, and
 * the eigenvectors to the columns of vectors, n x n. The matrix is overwritten; order has room for
 * n. wanted, which may be NULL, is called now and then. False: it returned false. */
bool jacobi_eigen(double *matrix, size_t n, double *values, double *vectors, size_t *order,
		  bool (*wanted)(void *context), void *context);

#endif
