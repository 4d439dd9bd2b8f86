/* SPDX-License-Identifier: MIT */
/* test_narrow.c - measure/narrow.c: exact products of whole numbers, and products of rows in
 * blocks of any size. */
#include "measure/narrow.h"
#include "tests/unit/unit.h"

enum { ROWS = 7, COLUMNS = 5, STRIDE = 3 * NARROW_STRIP };

static float row_value(size_t r, size_t i)
{
	return (float)((int)(r * COLUMNS + i) % 11 - 5);
}

static double narrow_value(size_t i, size_t k)
{
	return (double)((int)(i * STRIDE + k) % 13 - 6);
}

static void fill_rows(float rows[ROWS * COLUMNS])
{
	for (size_t r = 0; r < ROWS; r++)
		for (size_t i = 0; i < COLUMNS; i++)
			rows[r * COLUMNS + i] = row_value(r, i);
}

static void fill_narrow(double *matrix, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < STRIDE; k++)
			matrix[i * STRIDE + k] = narrow_value(i, k);
}

static void rows_are_multiplied(void **state)
{
	float rows[ROWS * COLUMNS];
	double q[COLUMNS * STRIDE], out[ROWS * STRIDE];

	(void)state;
	fill_rows(rows);
	fill_narrow(q, COLUMNS);
	narrow_multiply(rows, ROWS, COLUMNS, q, STRIDE, out);
	for (size_t r = 0; r < ROWS; r++)
		for (size_t k = 0; k < STRIDE; k++) {
			double sum = 0;

			for (size_t i = 0; i < COLUMNS; i++)
				sum += (double)row_value(r, i) * narrow_value(i, k);
			assert_true(out[r * STRIDE + k] == sum);
		}
}

/* The products of two blocks of rows add up. */
static void product_is_added_to_the_rows(void **state)
{
	float rows[ROWS * COLUMNS];
	double part[ROWS * STRIDE], next[COLUMNS * STRIDE];

	(void)state;
	fill_rows(rows);
	fill_narrow(part, ROWS);
	fill_narrow(next, COLUMNS);
	narrow_add_back(rows, 4, COLUMNS, part, STRIDE, next);
	narrow_add_back(rows + 4 * COLUMNS, ROWS - 4, COLUMNS, part + 4 * STRIDE, STRIDE, next);
	for (size_t i = 0; i < COLUMNS; i++)
		for (size_t k = 0; k < STRIDE; k++) {
			double sum = narrow_value(i, k);

			for (size_t r = 0; r < ROWS; r++)
				sum += (double)row_value(r, i) * narrow_value(r, k);
			assert_true(next[i * STRIDE + k] == sum);
		}
}

UNIT_MAIN(NULL, NULL)
