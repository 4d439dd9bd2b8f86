/* SPDX-License-Identifier: MIT */
/* score.c - see score.h. */
#include "score.h"

#include <math.h>

#define ENTROPY_NOISE	    0.95
#define ENTROPY_SIGNAL_HIGH 0.70
#define ENTROPY_SIGNAL_LOW  0.30
/* the lower flank is as wide as the upper one */
#define ENTROPY_DEAD   (ENTROPY_SIGNAL_LOW - (ENTROPY_NOISE - ENTROPY_SIGNAL_HIGH))
#define ENTROPY_MIDDLE 0.5

#define KURTOSIS_NOISE	   (1.0 / 3.0)
#define KURTOSIS_SIGNAL	   3.0
#define KURTOSIS_UNIFORM   -1.2
#define KURTOSIS_TWO_POINT -2.0

#define SPACING_NOISE  0.5
#define SPACING_SIGNAL 1.0

/* The logistic curve through (x10, 0.1) and (x90, 0.9). */
static double logistic(double x, double x10, double x90)
{
	return 1.0 / (1.0 + exp(-log(9.0) * (2.0 * x - x10 - x90) / (x90 - x10)));
}

static double logistic_of_logs(double x, double x10, double x90)
{
	return x > 0.0 ? logistic(log(x), log(x10), log(x90)) : 0.0;
}

static double entropy_flanks(double entropy)
{
	return logistic(entropy, ENTROPY_NOISE, ENTROPY_SIGNAL_HIGH) *
	       logistic(entropy, ENTROPY_DEAD, ENTROPY_SIGNAL_LOW);
}

double score_entropy(double entropy)
{
	return entropy_flanks(entropy) / entropy_flanks(ENTROPY_MIDDLE);
}

double score_kurtosis(double kurtosis)
{
	double sharpness = kurtosis;

	if (kurtosis < KURTOSIS_UNIFORM)
		sharpness = KURTOSIS_SIGNAL * (KURTOSIS_UNIFORM - kurtosis) /
			    (KURTOSIS_UNIFORM - KURTOSIS_TWO_POINT);
	return logistic_of_logs(sharpness, KURTOSIS_NOISE, KURTOSIS_SIGNAL);
}

double score_spacing(double spacing)
{
	return logistic_of_logs(spacing, SPACING_NOISE, SPACING_SIGNAL);
}

double score_signal(double entropy, double kurtosis, double spacing)
{
	return sqrt((entropy * entropy + kurtosis * kurtosis + spacing * spacing) / 3.0);
}

double score_theta(double signal)
{
	const double noise = 1.0 - signal * signal;

	return acos(sqrt(noise > 0.0 ? noise : 0.0)) * (180.0 / acos(-1.0));
}
