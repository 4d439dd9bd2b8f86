/* SPDX-License-Identifier: MIT */
/* tally.h - sums of θ over tensors, and what reports show of them. */
#ifndef FS_TALLY_H
#define FS_TALLY_H

#include "measure/zmeasure.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Over some tensors: those that have a θ. */
struct tally {
	size_t tensors, measured;
	double least, most, theta, signal; /* the last two are sums */
	double weight, weighted_theta, weighted_signal;
};

/* One more tensor of so many elements; z is NULL where it is not known. */
void tally_count(struct tally *tally, const struct zmeasure *z, uint64_t elements);

/* sum / n; NaN for none, and never with a sign, which would take a byte. */
static inline double tally_over(double sum, double n)
{
	return n > 0 ? sum / n : NAN;
}

/* The value, or NaN where nothing has a θ. */
static inline double tally_of(const struct tally *tally, double value)
{
	return tally->measured ? value : NAN;
}

#endif
