/* SPDX-License-Identifier: MIT */
/* zmeasure.h - the Z-measure of a tensor: how far the distribution of its weights is from noise, as
 * an angle. Three indicators (entropy of the histogram, excess kurtosis, evenness of the sorted
 * values) are scored between a value for noise and one for signal (score.h). The root mean square
 * of the scores is the signal S, and theta = arcsin S. The magnitude is the growth of information
 * with the scale at which neighbouring values are averaged: Z = dI/d(ln s) * exp(i * theta).
 *
 * The thresholds, the three indicators and the form of Z come from the Organ Architecture's
 * description of its measure; bins, trimming and the treatment of ties are chosen here, see
 * distribution.h. Theta describes a distribution of weights. It does not grade a model. */
#ifndef MEASURE_ZMEASURE_H
#define MEASURE_ZMEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zmeasure_status {
	ZMEASURE_OK,
	ZMEASURE_CONSTANT,  /* all values are equal: every indicator is 0 */
	ZMEASURE_ZERO,	    /* all values are 0: every indicator is 0 */
	ZMEASURE_SHORT,	    /* fewer than 8 finite values: every indicator is 0 */
	ZMEASURE_SPIKE,	    /* 99.8 % are equal: entropy and spacing are 0, kurtosis alone counts */
	ZMEASURE_NONFINITE, /* no finite value: signal and theta are NaN */
};

struct zmeasure {
	enum zmeasure_status status;
	uint64_t elements;  /* of the tensor */
	uint64_t sampled;   /* values that were measured */
	uint64_t nonfinite; /* of these, the ones that are not finite, not counted elsewhere */
	bool low_n;	    /* fewer than 512 finite values: theta is uncertain by degrees */
	double entropy, kurtosis, spacing;
	double s_entropy, s_kurtosis, s_spacing; /* scores, [0, 1] */
	double signal;				 /* [0, 1] */
	double theta;				 /* degrees, [0, 90] */
	double magnitude; /* dI/d(ln s), [-1/2, 1/2]; 0 without has_magnitude */
	bool has_magnitude;
	/* Figures of the finite values of the sample, for every status; NaN if there are none.
	 * deviation is the population's; zeros is the share of zeros, [0, 1]. */
	double min, max, mean, deviation, zeros;
};

/* A measure with that status without figures: each is NaN. */
struct zmeasure zmeasure_unknown(enum zmeasure_status status);

/* "ok", "constant", "zero", "short", "spike", "nonfinite" */
const char *zmeasure_status_name(enum zmeasure_status status);

/* Size of the scratch for n values in bytes; aligned as uint32_t. */
size_t zmeasure_scratch(size_t n);

/* Measure a tensor of so many elements by the n values (below 2^32) of its sample: the spans of
 * sample.h, one after the other. The values are not changed. Any thread may call it, with a scratch
 * of its own and about 32 KiB of stack. */
void zmeasure(const float *values, size_t n, uint64_t elements, void *scratch,
	      struct zmeasure *result);

#endif
