/* SPDX-License-Identifier: MIT */
/* orthonormal.c - see orthonormal.h. All later columns are processed together, because they are
 * neighbours in memory. */
#include "orthonormal.h"

#include <math.h>
#include <string.h>

/* a remainder is a rounding error if its square is below this part of the column's */
#define NOTHING 1e-28

static void add_squares(const double *matrix, size_t rows, size_t columns, double *squares)
{
	memset(squares, 0, columns * sizeof(*squares));
	for (size_t i = 0; i < rows; i++, matrix += columns)
		for (size_t k = 0; k < columns; k++)
			squares[k] += matrix[k] * matrix[k];
}

/* Products of column j with itself and the later columns. */
static void multiply(const double *matrix, size_t rows, size_t columns, size_t j, double *products)
{
	memset(products, 0, columns * sizeof(*products));
	for (size_t i = 0; i < rows; i++, matrix += columns)
		for (size_t k = j; k < columns; k++)
			products[k] += matrix[j] * matrix[k];
}

/* Normalise column j and subtract its projection from the later columns. */
static void take(double *matrix, size_t rows, size_t columns, size_t j, const double *products)
{
	const double length = sqrt(products[j]);

	for (size_t i = 0; i < rows; i++, matrix += columns) {
		const double x = matrix[j] / products[j];

		for (size_t k = j + 1; k < columns; k++)
			matrix[k] -= x * products[k];
		matrix[j] /= length;
	}
}

static void clear(double *matrix, size_t rows, size_t columns, size_t j)
{
	for (size_t i = 0; i < rows; i++)
		matrix[i * columns + j] = 0;
}

bool orthonormalise(double *matrix, size_t rows, size_t columns, double *scratch,
		    bool (*wanted)(void *context), void *context)
{
	double *squares = scratch, *products = scratch + columns;

	for (int again = 0; again < 2; again++) {
		add_squares(matrix, rows, columns, squares);
		for (size_t j = 0; j < columns; j++) {
			if (wanted && !wanted(context))
				return false;
			multiply(matrix, rows, columns, j, products);
			if (products[j] > NOTHING * squares[j])
				take(matrix, rows, columns, j, products);
			else
				clear(matrix, rows, columns, j);
		}
	}
	return true;
}
