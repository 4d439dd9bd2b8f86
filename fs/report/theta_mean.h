/* SPDX-License-Identifier: MIT */
/* theta_mean.h - sums of θ over tensors, and their means, for reports. */
#ifndef FS_REPORT_THETA_MEAN_H
#define FS_REPORT_THETA_MEAN_H

#include "measure/zmeasure.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Sums over some tensors; all but tensors are over those with a θ. */
struct theta_mean {
	size_t tensors, measured;
	double least, most, theta, signal; /* the last two are sums */
	double weight, weighted_theta, weighted_signal;
};

/* Add a tensor of that many elements; z is NULL if unknown. */
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

/* sum / n; NaN for n = 0, without a sign, which would take a byte. */
static inline double theta_mean_quotient(double sum, double n)
{
	return n > 0 ? sum / n : NAN;
}

#endif
