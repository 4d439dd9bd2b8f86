/* SPDX-License-Identifier: MIT */
/* zmeasure.c - see zmeasure.h. The distribution function is distribution.c, the magnitude haar.c.
 * */
#include "zmeasure.h"
#include "distribution.h"
#include "haar.h"
#include "radix.h"

#include <math.h>

/* Given: at the first value an indicator says noise, at the second signal. */
#define ENTROPY_NOISE	0.95
#define ENTROPY_SIGNAL	0.70
#define ENTROPY_LOWEST	0.30
#define KURTOSIS_FLAT	(-1.2) /* of the uniform law; down to it flatness is no sharpness */
#define KURTOSIS_NOISE	(1.0 / 3.0)
#define KURTOSIS_SIGNAL 3.0
#define SPACING_NOISE	0.5
#define SPACING_SIGNAL	1.0

/* Fewer values than this are not measured; fewer than that are measured with a warning. */
#define VALUES_LEAST 8
#define VALUES_LOW   512

/* 10 % at noise, 90 % at signal, logistic between and beyond. */
static double logistic(double x, double noise, double signal)
{
	const double exponent = -log(9.0) * (2.0 * x - noise - signal) / (signal - noise);

	return exponent > 700.0 ? 0.0 : 1.0 / (1.0 + exp(exponent));
}

/* The lower flank mirrors the upper one's width: a nearly dead tensor is no structure either. */
static double entropy_plateau(double entropy)
{
	return logistic(entropy, ENTROPY_NOISE, ENTROPY_SIGNAL) *
	       logistic(entropy, ENTROPY_LOWEST - (ENTROPY_NOISE - ENTROPY_SIGNAL), ENTROPY_LOWEST);
}

static double score_entropy(double entropy)
{
	return entropy_plateau(entropy) / entropy_plateau(0.5);
}

/* Excess kurtosis is never below -2, which the law of two points has: it counts as much as 3. */
static double score_kurtosis(double kurtosis)
{
	double effective = kurtosis;

	if (kurtosis < KURTOSIS_FLAT)
		effective = KURTOSIS_SIGNAL * (KURTOSIS_FLAT - kurtosis) / (KURTOSIS_FLAT + 2.0);
	if (effective <= 0.0)
		return 0.0;
	return logistic(log(effective), log(KURTOSIS_NOISE), log(KURTOSIS_SIGNAL));
}

static double score_spacing(double spacing)
{
	if (spacing <= 0.0)
		return 0.0;
	return logistic(log(spacing), log(SPACING_NOISE), log(SPACING_SIGNAL));
}

/* The length of the vector of scores relative to (1, 1, 1), and its angle. */
static void combine(struct zmeasure *result)
{
	const double e = result->score_entropy, k = result->score_kurtosis;
	const double s = result->score_spacing;
	double rest;

	result->signal = sqrt((e * e + k * k + s * s) / 3.0);
	rest = 1.0 - result->signal * result->signal;
	result->theta = acos(sqrt(rest > 0.0 ? rest : 0.0)) * (180.0 / M_PI);
}

static double mean_of(const float *values, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	return sum / (double)n;
}

/* m4 / m2^2 - 3, population moments about the mean. */
static double kurtosis_of(const float *values, size_t n, double mean)
{
	double second = 0.0, fourth = 0.0;

	for (size_t i = 0; i < n; i++) {
		const double d = (double)values[i] - mean, square = d * d;

		second += square;
		fourth += square * square;
	}
	second /= (double)n;
	fourth /= (double)n;
	return fourth / (second * second) - 3.0;
}

/* Put the finite values first, without -0; returns their number. */
static size_t keep_finite(const float *values, size_t n, float *kept)
{
	size_t finite = 0;

	for (size_t i = 0; i < n; i++) {
		kept[finite] = values[i] + 0.0f;
		finite += isfinite(values[i]) != 0;
	}
	return finite;
}

/* The reasons not to measure, told by the sorted finite values. */
static enum zmeasure_status status_of(const float *sorted, size_t n)
{
	if (n == 0)
		return ZMEASURE_NONFINITE;
	if (sorted[0] == sorted[n - 1])
		return sorted[0] == 0.0f ? ZMEASURE_ZERO : ZMEASURE_CONSTANT;
	return n < VALUES_LEAST ? ZMEASURE_SHORT : ZMEASURE_OK;
}

static void measure_sorted(const float *sorted, size_t n, struct zmeasure *result)
{
	struct distribution distribution;

	if (!distribution_of(sorted, n, &distribution)) {
		result->status = ZMEASURE_SPIKE;
	} else {
		result->entropy = distribution.entropy;
		result->spacing = distribution.spacing;
		result->score_entropy = score_entropy(result->entropy);
		result->score_spacing = score_spacing(result->spacing);
	}
	result->score_kurtosis = score_kurtosis(result->kurtosis);
	combine(result);
}

/* The kept values, with one more because what is not finite is written past them, and what sorting
 * them needs. */
size_t zmeasure_scratch(size_t n)
{
	return (n + 1) * sizeof(float) + 2 * n * sizeof(uint32_t);
}

void zmeasure(const float *values, size_t n, uint64_t elements, void *scratch,
	      struct zmeasure *result)
{
	float *kept = scratch;
	const size_t finite = keep_finite(values, n, kept);
	const double mean = finite ? mean_of(kept, finite) : 0.0;

	*result = (struct zmeasure){
		.elements = elements, .sampled = n, .nonfinite = n - finite, .low_n = n < VALUES_LOW
	};
	radix_sort(kept, finite, (uint32_t *)(void *)(kept + n + 1));
	result->status = status_of(kept, finite);
	if (result->status == ZMEASURE_NONFINITE)
		result->theta = result->signal = NAN;
	if (result->status != ZMEASURE_OK)
		return;
	result->kurtosis = kurtosis_of(kept, finite, mean);
	result->has_magnitude = haar_slope(values, n, mean, &result->magnitude);
	measure_sorted(kept, finite, result);
}
