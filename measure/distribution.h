/* SPDX-License-Identifier: MIT */
/* distribution.h - entropy and spacing of a sample, from its distribution function.
 *
 * The function is Parzen's mid-distribution: a value that occurs c times carries half its mass to
 * either side, spread evenly up to the neighbouring value, but no further than 1/16 of the range.
 * So a grid of quantised values, eight levels or more, is smoothed away, and an isolated atom is
 * not. The range is that of the middle 99.8 % of the values, for one outlier must not decide. */
#ifndef MEASURE_DISTRIBUTION_H
#define MEASURE_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

struct distribution {
	double entropy; /* of 64 equal bins of the range, / ln 64; mass outside in the end bins */
	double spacing; /* coefficient of variation of 64 quantile spacings */
};

/* Of n >= 8 values in ascending order. False: the range is empty, 99.8 % of the values are equal.
 * */
bool distribution_of(const float *sorted, size_t n, struct distribution *distribution);

#endif
