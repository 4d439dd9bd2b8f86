/* SPDX-License-Identifier: MIT */
/* purify.h - what all purifiers of a row have in common. A row is centred and brought to standard
 * deviation 1, so that neither huge nor tiny values leave the range of a float on the way; some of
 * it is taken away; what remains gets the row's mean and standard deviation back. These are
 * computed in double precision.
 *
 * A row stays as it is, to the last bit, that has fewer than four values, that is constant, or in
 * which something is not finite; so does one of which nothing remains, and one whose result would
 * have a value of a magnitude above a given one, the most that its type can hold. */
#ifndef MEASURE_PURIFY_H
#define MEASURE_PURIFY_H

#include <stdbool.h>
#include <stddef.h>

/* Of a row's values: the population's. */
struct purify_row {
	double mean, deviation;
};

/* What remains of a row of count values, in any scale: its sum and the sum of its squares. */
struct purify_rest {
	double sum, squares;
};

/* Of count values. */
double purify_sum(const float *x, size_t count);

/* False: the row stays as it is, and row is not set. */
bool purify_measure(const float *x, size_t count, struct purify_row *row);

/* normal[i] = (x[i] - mean) / deviation */
void purify_normalise(const struct purify_row *row, const float *x, size_t count, float *normal);

/* Add count values to the sums, which begin at 0. */
void purify_add(struct purify_rest *rest, const float *z, size_t count);

/* y = z with the row's mean and deviation. y may be z. False, and y is as it was: nothing remains,
 * or the result would exceed most. */
bool purify_restore(const struct purify_row *row, const struct purify_rest *rest, const float *z,
		    size_t count, float most, float *y);

/* y = x, which may be the same. False, for a purifier to return. */
bool purify_unchanged(const float *x, size_t count, float *y);

#endif
