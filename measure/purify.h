/* SPDX-License-Identifier: MIT */
/* purify.h - shared by all purifiers of a row. A row is scaled to mean 0 and standard deviation 1,
 * so that neither huge nor tiny values leave the range of a float; the purifier removes a part; the
 * rest gets the row's mean and standard deviation back. Both are computed in double precision.
 *
 * A row stays unchanged, bit for bit, if it has fewer than four values, is constant, or contains a
 * value that is not finite; also if nothing remains of it, or if the result would have a value
 * above a given magnitude, the largest of its type. */
#ifndef MEASURE_PURIFY_H
#define MEASURE_PURIFY_H

#include <stdbool.h>
#include <stddef.h>

/* Mean and population standard deviation of a row. */
struct purify_row {
	double mean, deviation;
};

/* The rest of a row of count values, in any scale: its sum and sum of squares. */
struct purify_rest {
	double sum, squares;
};

/* The sum of count values. */
double purify_sum(const float *x, size_t count);

/* False: the row stays unchanged, and *row is not set. */
bool purify_measure(const float *x, size_t count, struct purify_row *row);

/* normal[i] = (x[i] - mean) / deviation */
void purify_normalise(const struct purify_row *row, const float *x, size_t count, float *normal);

/* Add count values to the sums, which are initially 0. */
void purify_add(struct purify_rest *rest, const float *z, size_t count);

/* y = z with the row's mean and deviation; y may be z. False, with y unchanged: nothing remains, or
 * the result would exceed most. */
bool purify_restore(const struct purify_row *row, const struct purify_rest *rest, const float *z,
		    size_t count, float most, float *y);

/* y = x; both may be the same. Returns false, the result of a purifier. */
bool purify_unchanged(const float *x, size_t count, float *y);

#endif
