/* SPDX-License-Identifier: MIT */
/* haar.h - how the information in values depends on the scale they are looked at. */
#ifndef MEASURE_HAAR_H
#define MEASURE_HAAR_H

#include <stdbool.h>
#include <stddef.h>

/* dI/d(ln s) of n values in storage order: the slope of I(s) = 1/2 ln(mean energy of the
 * orthonormal Haar approximation at scale s = 2^j), least squares over the scales that have 64
 * coefficients, in pieces of 256 values; from -1/2 (values alternate) over 0 (no order) to 1/2 (a
 * pattern on all scales). Values that are not finite count as the mean. False: too few values for
 * two scales, or no energy. */
bool haar_slope(const float *values, size_t n, double mean, double *slope);

#endif
