/* SPDX-License-Identifier: MIT */
/* test_jacobi.c - measure/jacobi.c: against NumPy, and properties of eigenvectors. */
#include "measure/jacobi.h"
#include "tests/unit/unit.h"

#include <math.h>

#define N 6

static void hilbert(double *matrix)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			matrix[i * N + j] = 1.0 / (i + j + 1);
}

static void eigenvalues_are_those_of_numpy(void **state)
{
	/* numpy.linalg.eigvalsh */
	static const double golden[N] = { 1.61889985892,     0.242360870575,	0.016321521319,
					  0.000615748354183, 1.25707571226e-05, 1.08279948452e-07 };
	double matrix[N * N], values[N], vectors[N * N];
	size_t order[N];

	(void)state;
	hilbert(matrix);
	assert_true(jacobi_eigen(matrix, N, values, vectors, order, NULL, NULL));
	for (int i = 0; i < N; i++)
		assert_true(fabs(values[i] / golden[i] - 1) < 1e-8);
}

static void vectors_are_orthonormal_and_make_the_matrix_again(void **state)
{
	double matrix[N * N], values[N], vectors[N * N], was[N * N];
	size_t order[N];

	(void)state;
	hilbert(was);
	hilbert(matrix);
	assert_true(jacobi_eigen(matrix, N, values, vectors, order, NULL, NULL));
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double product = 0, again = 0;

			for (int k = 0; k < N; k++) {
				product += vectors[k * N + i] * vectors[k * N + j];
				again += vectors[i * N + k] * values[k] * vectors[j * N + k];
			}
			assert_true(fabs(product - (i == j)) < 1e-14);
			assert_true(fabs(again - was[i * N + j]) < 1e-14);
		}
}

static void eigenvalues_of_diagonal_matrix_are_sorted(void **state)
{
	double matrix[9] = { 2, 0, 0, 0, 5, 0, 0, 0, 2 }, values[3], vectors[9];
	static const double golden[9] = { 0, 1, 0, 1, 0, 0, 0, 0, 1 };
	size_t order[3];

	(void)state;
	assert_true(jacobi_eigen(matrix, 3, values, vectors, order, NULL, NULL));
	assert_true(values[0] == 5 && values[1] == 2 && values[2] == 2);
	assert_memory_equal(vectors, golden, sizeof(golden));
}

static void eigenvalues_of_zeros_and_of_single_value_are_the_values(void **state)
{
	double zeros[4] = { 0 }, one = -3, values[2], vectors[4];
	size_t order[2];

	(void)state;
	assert_true(jacobi_eigen(zeros, 2, values, vectors, order, NULL, NULL));
	assert_true(values[0] == 0 && values[1] == 0 && vectors[0] == 1);
	assert_true(jacobi_eigen(&one, 1, values, vectors, order, NULL, NULL));
	assert_true(values[0] == -3 && vectors[0] == 1);
}

static bool is_never_wanted(void *context)
{
	(void)context;
	return false;
}

static void unwanted_computation_ends(void **state)
{
	double matrix[N * N], values[N], vectors[N * N];
	size_t order[N];

	(void)state;
	hilbert(matrix);
	assert_false(jacobi_eigen(matrix, N, values, vectors, order, is_never_wanted, NULL));
}

UNIT_MAIN(NULL, NULL)
