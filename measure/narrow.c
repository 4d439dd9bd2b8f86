/* SPDX-License-Identifier: MIT */
/* narrow.c - see narrow.h. */
#include "narrow.h"

#include "lanes.h"

/* vectors of a strip */
#define HALVES (NARROW_STRIP / (LANES / 2))

static half_lanes both(double value)
{
	return (half_lanes){ value, value };
}

/* A strip of the product of a row and q. */
static void project_strip(const float *row, size_t columns, const double *q, size_t stride,
			  double *out)
{
	half_lanes sums[HALVES] = { 0 };

	for (size_t i = 0; i < columns; i++, q += stride) {
		const half_lanes value = both((double)row[i]);

#pragma GCC unroll 4
		for (size_t h = 0; h < HALVES; h++)
			sums[h] += value * half_lanes_load(q + 2 * h);
	}
	for (size_t h = 0; h < HALVES; h++)
		half_lanes_store(out + 2 * h, sums[h]);
}

void narrow_multiply(const float *rows, size_t n, size_t columns, const double *q, size_t stride,
		     double *out)
{
	for (size_t at = 0; at < stride; at += NARROW_STRIP)
		for (size_t r = 0; r < n; r++)
			project_strip(rows + r * columns, columns, q + at, stride,
				      out + r * stride + at);
}

/* Add the products of one column, over n rows, to a strip of next. */
static void back_strip(const float *rows, size_t columns, size_t n, const double *part,
		       size_t stride, double *next)
{
	half_lanes sums[HALVES];

	for (size_t h = 0; h < HALVES; h++)
		sums[h] = half_lanes_load(next + 2 * h);
	for (size_t r = 0; r < n; r++, part += stride) {
		const half_lanes value = both((double)rows[r * columns]);

#pragma GCC unroll 4
		for (size_t h = 0; h < HALVES; h++)
			sums[h] += value * half_lanes_load(part + 2 * h);
	}
	for (size_t h = 0; h < HALVES; h++)
		half_lanes_store(next + 2 * h, sums[h]);
}

void narrow_add_back(const float *rows, size_t n, size_t columns, const double *part, size_t stride,
		     double *next)
{
	for (size_t i = 0; i < columns; i++)
		for (size_t at = 0; at < stride; at += NARROW_STRIP)
			back_strip(rows + i, columns, n, part + at, stride, next + i * stride + at);
}
