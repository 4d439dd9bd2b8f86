/* SPDX-License-Identifier: MIT */
/* merge_swap.c - see merge_internal.h: methods that replace elements of the base by those of one
 * input: nearswap if they are near, arcee_fusion if they are important. */
#include "merge_internal.h"

#include <math.h>

/* smaller differences count as this */
#define LEAST_DIFFERENCE 1e-6

/* added to each share of a softmax, so that divisors are not 0 */
#define LEAST_SHARE 1e-8

/* mergekit, nearswap.py, nearswap_merge(). */
void merge_nearswap(const struct merge *m, const struct merge_strip *strip,
		    double result[MERGE_STRIP])
{
	double differences[MERGE_STRIP];

	merge_differences(strip, 0, differences);
	for (unsigned k = 0; k < MERGE_STRIP; k++) {
		const double weight = m->rule.t / fmax(fabs(differences[k]), LEAST_DIFFERENCE);

		result[k] = differences[k] * fmax(0.0, fmin(1.0, weight));
	}
}

/* Divisors of the softmax of a row, over the values that are finite in both models. */
struct softmax {
	double largest, sum;
};

static struct softmax find_softmax(const float *values, const float *other, size_t n)
{
	struct softmax softmax = { -HUGE_VAL, 0.0 };

	for (size_t k = 0; k < n; k++)
		if (isfinite(values[k]) && isfinite(other[k]))
			softmax.largest = fmax(softmax.largest, (double)values[k]);
	for (size_t k = 0; k < n; k++)
		if (isfinite(values[k]) && isfinite(other[k]))
			softmax.sum += exp((double)values[k] - softmax.largest);
	return softmax;
}

static double share_of(const struct softmax *softmax, float value)
{
	return exp((double)value - softmax->largest) / softmax->sum + LEAST_SHARE;
}

/* The Kullback-Leibler divergence of the softmax of two rows. Rounding may make a tiny one
 * negative. mergekit, arcee_fusion.py, _compute_importance(). */
double merge_divergence(const float *input, const float *base, size_t n)
{
	const struct softmax of_input = find_softmax(input, base, n);
	const struct softmax of_base = find_softmax(base, input, n);
	double sum = 0.0;

	for (size_t k = 0; k < n; k++)
		if (isfinite(input[k]) && isfinite(base[k])) {
			const double p = share_of(&of_input, input[k]);

			sum += p * log(p / share_of(&of_base, base[k]));
		}
	return fmax(sum, 0.0);
}

void merge_importance_keys(const struct merge_strip *strip, int32_t keys[MERGE_STRIP])
{
	double importances[MERGE_STRIP];

	merge_differences(strip, 0, importances);
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		importances[k] *= strip->divergence;
	merge_keys(importances, keys);
}

static double value_of(int32_t key)
{
	float value;

	memcpy(&value, &key, sizeof(value));
	return (double)value;
}

/* arcee_fusion.py, calculate_dynamic_threshold() and execute(). */
void merge_arcee_fusion(const struct merge *m, const struct merge_strip *strip,
			double result[MERGE_STRIP])
{
	const double first = value_of(m->parts[0].from.key), third = value_of(m->parts[1].from.key);
	const double threshold = value_of(m->parts[0].to.key) + 1.5 * (third - first);
	int32_t keys[MERGE_STRIP];

	merge_importance_keys(strip, keys);
	merge_differences(strip, 0, result);
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] *= value_of(keys[k]) >= threshold ? 1.0 : 0.0;
}
