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
static inline void theta_mean_add(struct theta_mean *tally, const struct zmeasure *z,
				  uint64_t elements)
{
	const double weight = (double)elements;

	tally->tensors++;
	if (!z || isnan(z->theta))
		return;
	if (tally->measured == 0)
		tally->least = tally->most = z->theta;
	tally->measured++;
	tally->least = fmin(tally->least, z->theta);
	tally->most = fmax(tally->most, z->theta);
	tally->theta += z->theta;
	tally->signal += z->signal;
	tally->weight += weight;
	tally->weighted_theta += weight * z->theta;
	tally->weighted_signal += weight * z->signal;
}

/* sum / n; NaN for none, and never with a sign, which would take a byte. */
static inline double theta_mean_quotient(double sum, double n)
{
	return n > 0 ? sum / n : NAN;
}

#endif
