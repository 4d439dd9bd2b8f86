/* SPDX-License-Identifier: MIT */
/* theta_mean.h - sums of θ over tensors, and what reports show of them. */
#ifndef FS_REPORT_THETA_MEAN_H
#define FS_REPORT_THETA_MEAN_H

#include "measure/zmeasure.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Over some tensors: those that have a θ. */
struct theta_mean {
	size_t tensors, measured;
	double least, most, theta, signal; /* the last two are sums */
	double weight, weighted_theta, weighted_signal;
};

/* One more tensor of so many elements; z is NULL where it is not known. */
void theta_mean_add(struct theta_mean *tally, const struct zmeasure *z, uint64_t elements);

/* sum / n; NaN for none, and never with a sign, which would take a byte. */
static inline double theta_mean_quotient(double sum, double n)
{
	return n > 0 ? sum / n : NAN;
}

/* The value, or NaN where nothing has a θ. */
static inline double theta_mean_or_nan(const struct theta_mean *tally, double value)
{
	return tally->measured ? value : NAN;
}

#endif
