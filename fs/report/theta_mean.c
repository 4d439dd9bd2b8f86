/* SPDX-License-Identifier: MIT */
/* theta_mean.c - see theta_mean.h. */
#include "fs/report/theta_mean.h"

void theta_mean_add(struct theta_mean *tally, const struct zmeasure *z, uint64_t elements)
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
