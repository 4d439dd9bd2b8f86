/* SPDX-License-Identifier: MIT */
/* zmeasure.h - the Z-measure: how far the distribution of a tensor's values is from noise, as an
 * angle θ from 0° (uniform noise) to 90°. Three indicators are scored from 0 to 1, and θ is the
 * angle whose sine is the length of the scores' vector:
 *
 *	entropy		Shannon entropy of a histogram of 64 bins / ln 64 (1: uniform)
 *	kurtosis	excess kurtosis (0: Gaussian)
 *	spacing		coefficient of variation of 64 quantile spacings (0: uniform)
 *
 * The shape of the scores, the bins and the trimming are calibrated, not derived; θ describes the
 * distribution of weights and does not grade a model. */
#ifndef MEASURE_ZMEASURE_H
#define MEASURE_ZMEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zmeasure_status {
	ZMEASURE_OK,
	ZMEASURE_CONSTANT,  /* all values equal: everything 0 */
	ZMEASURE_ZERO,	    /* all values zero: everything 0 */
	ZMEASURE_SHORT,	    /* fewer than 8 finite values: everything 0 */
	ZMEASURE_SPIKE,	    /* 99.8 % of the values are equal: only kurtosis counts */
	ZMEASURE_NONFINITE, /* no finite value: θ and signal are NaN */
};

struct zmeasure {
	enum zmeasure_status status;
	uint64_t elements;  /* of the tensor */
	uint64_t sampled;   /* that were looked at */
	uint64_t nonfinite; /* of these; left out */
	bool low_n;	    /* fewer than 512 were looked at: θ is uncertain by 2° and more */
	double entropy, kurtosis, spacing;
	double score_entropy, score_kurtosis, score_spacing;
	double signal;	    /* sin θ */
	double theta;	    /* degrees */
	bool has_magnitude; /* enough values for two scales */
	double magnitude;   /* dI/d(ln s), -1/2 to 1/2: 0 for values without order */
};

/* Bytes of scratch that n values need, aligned as malloc() does. */
size_t zmeasure_scratch(size_t n);

/* Measure n values that were looked at of a tensor of so many elements, in storage order. The
 * values stay as they are. */
void zmeasure(const float *values, size_t n, uint64_t elements, void *scratch,
	      struct zmeasure *result);

#endif
