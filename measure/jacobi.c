/* SPDX-License-Identifier: MIT */
/* jacobi.c - see jacobi.h. */
#include "jacobi.h"

#include <float.h>
#include <math.h>

/* the method converges quadratically: ten sweeps are many */
#define SWEEPS_MOST 60

/* Rotation of rows and columns p and q, given by its cosine and sine. */
struct rotation {
	size_t p, q;
	double cosine, sine;
};

static void turn_columns(double *matrix, size_t n, const struct rotation *by)
{
	for (size_t i = 0; i < n; i++) {
		double *row = matrix + i * n;
		const double x = row[by->p], y = row[by->q];

		row[by->p] = by->cosine * x - by->sine * y;
		row[by->q] = by->sine * x + by->cosine * y;
	}
}

static void turn_rows(double *matrix, size_t n, const struct rotation *by)
{
	double *p = matrix + by->p * n, *q = matrix + by->q * n;

	for (size_t i = 0; i < n; i++) {
		const double x = p[i], y = q[i];

		p[i] = by->cosine * x - by->sine * y;
		q[i] = by->sine * x + by->cosine * y;
	}
}

/* Find the rotation that makes the element at p, q zero. False: it is negligible already, compared
 * with the diagonal. */
static bool find_rotation(const double *matrix, size_t n, struct rotation *by)
{
	const double x = matrix[by->p * n + by->p], y = matrix[by->q * n + by->q];
	const double off = matrix[by->p * n + by->q];
	double angle, tangent;

	if (off == 0 || fabs(off) <= DBL_EPSILON * sqrt(fabs(x)) * sqrt(fabs(y)))
		return false;
	angle = (y - x) / (2 * off);
	tangent = copysign(1 / (fabs(angle) + sqrt(1 + angle * angle)), angle);
	by->cosine = 1 / sqrt(1 + tangent * tangent);
	by->sine = by->cosine * tangent;
	return true;
}

/* Rotate every pair once. Returns whether any was rotated. */
static bool sweep(double *matrix, double *vectors, size_t n, size_t p)
{
	bool turned = false;

	for (size_t q = p + 1; q < n; q++) {
		struct rotation by = { .p = p, .q = q };

		if (!find_rotation(matrix, n, &by))
			continue;
		turn_rows(matrix, n, &by);
		turn_columns(matrix, n, &by);
		turn_columns(vectors, n, &by);
		matrix[p * n + q] = matrix[q * n + p] = 0;
		turned = true;
	}
	return turned;
}

/* Indexes of the diagonal in descending order of values; of equal ones the first comes first. */
static void sort(const double *matrix, size_t n, size_t *order)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && matrix[order[at - 1] * (n + 1)] < matrix[i * (n + 1)]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

/* Put the vectors in order. The matrix, no longer needed, serves as buffer. */
static void arrange(double *matrix, size_t n, double *values, double *vectors, const size_t *order)
{
	for (size_t i = 0; i < n; i++)
		values[i] = matrix[order[i] * (n + 1)];
	for (size_t i = 0; i < n; i++) {
		double *row = vectors + i * n;

		for (size_t k = 0; k < n; k++)
			matrix[k] = row[order[k]];
		for (size_t k = 0; k < n; k++)
			row[k] = matrix[k];
	}
}

bool jacobi_eigen(double *matrix, size_t n, double *values, double *vectors, size_t *order,
		  bool (*wanted)(void *context), void *context)
{
	bool turned = true;

	for (size_t i = 0; i < n * n; i++)
		vectors[i] = i % (n + 1) == 0 ? 1 : 0;
	for (unsigned i = 0; turned && i < SWEEPS_MOST; i++) {
		turned = false;
		for (size_t p = 0; p < n; p++) {
			if (wanted && !wanted(context))
				return false;
			turned |= sweep(matrix, vectors, n, p);
		}
	}
	sort(matrix, n, order);
	arrange(matrix, n, values, vectors, order);
	return true;
}
