/* SPDX-License-Identifier: MIT */
/* merge_sce.c - see merge_internal.h: sce keeps the elements in which the differences from the base
 * vary most from input to input, weighs each input by the squares of the elements kept, and elects
 * the sign of each element. mergekit, sce.py. */
#include "merge_internal.h"

#include <math.h>

/* smaller sums are not used as divisors */
#define LEAST_SUM 1e-6

void merge_sce_begin(struct merge *m)
{
	memset(m->products, 0, sizeof(m->products));
	m->pass = MERGE_PASS_SQUARES;
}

void merge_variance_keys(const struct merge_rule *rule, const struct merge_strip *strip,
			 int32_t keys[MERGE_STRIP])
{
	double differences[MERGE_INPUTS_MAX][MERGE_STRIP];
	double means[MERGE_STRIP] = { 0.0 }, variances[MERGE_STRIP] = { 0.0 };

	for (unsigned i = 0; i < rule->n; i++) {
		merge_differences(strip, i, differences[i]);
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			means[k] += differences[i][k] / rule->n;
	}
	for (unsigned i = 0; i < rule->n; i++)
		for (unsigned k = 0; k < MERGE_STRIP; k++) {
			const double off = differences[i][k] - means[k];

			variances[k] += off * off / rule->n;
		}
	merge_keys(variances, keys);
}

/* The differences of every input, 0 where left out, unless they are not finite. */
static void find_kept(const struct merge *m, const struct merge_strip *strip,
		      double differences[][MERGE_STRIP])
{
	int32_t kept[MERGE_STRIP];

	merge_trim_choose(m, 0, strip, kept);
	for (unsigned i = 0; i < m->rule.n; i++) {
		merge_differences(strip, i, differences[i]);
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			differences[i][k] *= kept[k];
	}
}

void merge_squares_add(struct merge *m, const struct merge_strip *strip)
{
	double differences[MERGE_INPUTS_MAX][MERGE_STRIP];

	find_kept(m, strip, differences);
	for (unsigned i = 0; i < m->rule.n; i++)
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			if (isfinite(differences[i][k]))
				m->products[i][i] += differences[i][k] * differences[i][k];
}

/* sce.py, sce_weight(). */
void merge_squares_end(struct merge *m)
{
	const double values = (double)(m->rule.rows * m->rule.columns);
	double sum = 0.0;

	for (unsigned i = 0; i < m->rule.n; i++)
		sum += m->products[i][i] / values;
	for (unsigned i = 0; i < m->rule.n; i++)
		m->parts[i].factor =
			sum < LEAST_SUM ? 1.0 / m->rule.n : m->products[i][i] / values / sum;
	m->pass = MERGE_PASS_NONE;
}

/* sce.py, sce_merge(). */
void merge_sce(const struct merge *m, const struct merge_strip *strip,
	       double result[restrict MERGE_STRIP])
{
	double differences[MERGE_INPUTS_MAX][MERGE_STRIP];
	double sums[MERGE_STRIP] = { 0.0 }, weights[MERGE_STRIP] = { 0.0 };

	find_kept(m, strip, differences);
	for (unsigned i = 0; i < m->rule.n; i++)
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			sums[k] += differences[i][k];
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] = 0.0;
	for (unsigned i = 0; i < m->rule.n; i++)
		for (unsigned k = 0; k < MERGE_STRIP; k++) {
			const double d = differences[i][k];
			const bool agrees = sums[k] >= 0.0 ? d > 0.0 : d < 0.0;
			const double weight = agrees ? m->parts[i].factor : 0.0;

			result[k] += d * weight;
			weights[k] += weight;
		}
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] /= fmax(weights[k], LEAST_SUM);
}
