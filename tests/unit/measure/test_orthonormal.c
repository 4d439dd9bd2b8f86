/* SPDX-License-Identifier: MIT */
/* test_orthonormal.c - measure/orthonormal.c: columns that are nearly equal, equal, and zero. */
#include "measure/orthonormal.h"
#include "tests/unit/unit.h"

#include <math.h>

static double product(const double *matrix, size_t rows, size_t columns, size_t i, size_t j)
{
	double sum = 0;

	for (size_t r = 0; r < rows; r++)
		sum += matrix[r * columns + i] * matrix[r * columns + j];
	return sum;
}

/* Check that the columns in use are orthonormal. */
static void assert_orthonormal(const double *matrix, size_t rows, size_t columns, size_t used)
{
	for (size_t i = 0; i < columns; i++)
		for (size_t j = 0; j < columns; j++)
			assert_true(fabs(product(matrix, rows, columns, i, j) -
					 (i == j && i < used)) < 1e-14);
}

static void columns_that_are_nearly_alike_become_orthonormal(void **state)
{
	double matrix[40 * 12], scratch[24];

	(void)state;
	/* Powers of nearly equal numbers make nearly equal columns. */
	for (int i = 0; i < 40; i++)
		for (int k = 0; k < 12; k++)
			matrix[i * 12 + k] = pow(1 + i / 40.0, k);
	assert_true(orthonormalise(matrix, 40, 12, scratch, NULL, NULL));
	assert_orthonormal(matrix, 40, 12, 12);
}

static void columns_that_are_mixtures_become_zeros(void **state)
{
	double matrix[5 * 3] = { 0 }, scratch[6];

	(void)state;
	for (int i = 0; i < 5; i++) {
		matrix[i * 3] = i + 1;
		matrix[i * 3 + 1] = i % 2;
		matrix[i * 3 + 2] = 3 * (i + 1) - 2 * (i % 2);
	}
	assert_true(orthonormalise(matrix, 5, 3, scratch, NULL, NULL));
	assert_orthonormal(matrix, 5, 3, 2);
	for (int i = 0; i < 5; i++)
		assert_true(matrix[i * 3 + 2] == 0);
}

static void zeros_stay_zeros(void **state)
{
	double matrix[4 * 2] = { 0, 3, 0, 0, 0, 4, 0, 0 }, scratch[4];
	static const double golden[4 * 2] = { 0, 0.6, 0, 0, 0, 0.8, 0, 0 };

	(void)state;
	assert_true(orthonormalise(matrix, 4, 2, scratch, NULL, NULL));
	for (int i = 0; i < 8; i++)
		assert_true(fabs(matrix[i] - golden[i]) < 1e-15);
}

static bool is_never_wanted(void *context)
{
	(void)context;
	return false;
}

static void unwanted_computation_ends(void **state)
{
	double matrix[2] = { 1, 2 }, scratch[2];

	(void)state;
	assert_false(orthonormalise(matrix, 2, 1, scratch, is_never_wanted, NULL));
}

UNIT_MAIN(NULL, NULL)
