/* SPDX-License-Identifier: MIT */
/* merge_task.c - see merge_internal.h: methods that keep selected differences of each input from
 * the base (task vectors). */
#include "merge_internal.h"
#include "lanes.h"
#include "merge_random.h"

#include <float.h>
#include <math.h>

/* smaller sums of magnitudes are not used as divisors */
#define LEAST_SUM 1e-7

static void choose_by_chance(const struct merge_input *input, const struct merge_strip *strip,
			     int32_t kept[MERGE_STRIP])
{
	const double end = ceil(input->density * MERGE_RANDOM_END);
	const uint32_t least_left_out = end > 0.0 ? (uint32_t)end : 0;

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		kept[k] = merge_random(strip->element + k, input->seed) < least_left_out;
}

static void choose_by_rank(const struct merge_rule *rule, unsigned i,
			   const struct merge_strip *strip, int32_t kept[MERGE_STRIP])
{
	const struct merge_input *input = &rule->inputs[i];
	const double last = rule->columns > 1 ? (double)(rule->columns - 1) : 1.0;
	const uint32_t *ranks_here = strip->ranks + i * (size_t)rule->columns + strip->column;

	for (size_t k = 0; k < strip->n; k++) {
		const double u = merge_random(strip->element + k, input->seed) / MERGE_RANDOM_END;
		const double share = ranks_here[k] / last;

		kept[k] = u < input->density - input->epsilon + share * 2.0 * input->epsilon;
	}
	for (size_t k = strip->n; k < MERGE_STRIP; k++)
		kept[k] = 0;
}

/* 1 for each value that is kept, 0 for the others. */
static void choose(const struct merge *m, unsigned i, const struct merge_strip *strip,
		   int32_t kept[MERGE_STRIP])
{
	const struct merge_input *input = &m->rule.inputs[i];
	const enum merge_choice how = merge_choice(m->rule.method);

	if (how == MERGE_CHOOSE_ALL || input->density >= 1.0)
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			kept[k] = 1;
	else if (how == MERGE_CHOOSE_BY_MAGNITUDE)
		merge_trim_choose(m, i, strip, kept);
	else if (how == MERGE_CHOOSE_BY_CHANCE)
		choose_by_chance(input, strip, kept);
	else
		choose_by_rank(&m->rule, i, strip, kept);
}

/* Beginning, and the pass over the magnitudes. */

static bool is_rescaled(const struct merge_rule *rule, unsigned i)
{
	return rule->rescale && merge_choice(rule->method) != MERGE_CHOOSE_ALL &&
	       rule->inputs[i].density < 1.0;
}

void merge_task_begin(struct merge *m)
{
	m->pass = MERGE_PASS_NONE;
	for (unsigned i = 0; i < m->rule.n; i++) {
		m->parts[i].factor = m->rule.inputs[i].weight;
		m->parts[i].all = m->parts[i].kept = 0.0;
		if (is_rescaled(&m->rule, i))
			m->pass = MERGE_PASS_MAGNITUDES;
	}
}

/* Sums of a strip, in eight partial sums. */
static void add_magnitudes(struct merge_part *part, const double differences[restrict MERGE_STRIP],
			   const int32_t kept[restrict MERGE_STRIP])
{
	double all[8] = { 0.0 }, some[8] = { 0.0 };

	for (unsigned k = 0; k < MERGE_STRIP; k += 8)
		for (unsigned l = 0; l < 8; l++) {
			const double size = fabs(differences[k + l]);
			const double counted = size <= DBL_MAX ? size : 0.0;

			all[l] += counted;
			some[l] += counted * kept[k + l];
		}
	for (unsigned l = 0; l < 8; l++) {
		part->all += all[l];
		part->kept += some[l];
	}
}

void merge_magnitudes_add(struct merge *m, const struct merge_strip *strip)
{
	double differences[MERGE_STRIP];
	int32_t kept[MERGE_STRIP];

	for (unsigned i = 0; i < m->rule.n; i++) {
		if (!is_rescaled(&m->rule, i))
			continue;
		merge_differences(strip, i, differences);
		choose(m, i, strip, kept);
		add_magnitudes(&m->parts[i], differences, kept);
	}
}

void merge_magnitudes_end(struct merge *m)
{
	for (unsigned i = 0; i < m->rule.n; i++) {
		struct merge_part *part = &m->parts[i];

		if (is_rescaled(&m->rule, i) && part->all >= LEAST_SUM && part->kept >= LEAST_SUM)
			part->factor *= part->all / part->kept;
	}
	m->pass = MERGE_PASS_NONE;
}

/* Rows. */

/* An input's differences times its factor; 0 if left out, unless they are not finite. */
static void weigh(const double differences[restrict MERGE_STRIP], double factor,
		  const int32_t kept[restrict MERGE_STRIP], double weighed[restrict MERGE_STRIP])
{
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		weighed[k] = differences[k] * (kept[k] * factor);
}

/* Add the values that have the elected sign, and their weights. */
static void add_elected(const double weighed[MERGE_STRIP], const double signs[MERGE_STRIP],
			double weight, double sum[MERGE_STRIP], double weights[MERGE_STRIP])
{
	const half_lanes one = { 1.0, 1.0 }, all_zeros = { 0.0, 0.0 };

	for (unsigned k = 0; k < MERGE_STRIP; k += LANES / 2) {
		const half_lanes v = half_lanes_load(weighed + k);
		const half_masks agrees = v * half_lanes_load(signs + k) > all_zeros;
		const half_lanes share = (half_lanes)((half_masks)one & agrees);

		half_lanes_store(sum + k, half_lanes_load(sum + k) + v * share);
		half_lanes_store(weights + k, half_lanes_load(weights + k) + weight * share);
	}
}

/* result contains the sums of all values. */
static void elect(const struct merge *m, double weighed[][MERGE_STRIP],
		  double result[restrict MERGE_STRIP])
{
	double signs[MERGE_STRIP], weights[MERGE_STRIP] = { 0.0 };

	for (unsigned k = 0; k < MERGE_STRIP; k++) {
		signs[k] = result[k] >= 0.0 ? 1.0 : -1.0;
		result[k] = 0.0;
	}
	for (unsigned i = 0; i < m->rule.n; i++)
		add_elected(weighed[i], signs, m->rule.inputs[i].weight, result, weights);
	if (m->rule.normalize)
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			result[k] /= weights[k] != 0.0 ? weights[k] : 1.0;
}

static void divide_by_weights(const struct merge_rule *rule, double result[MERGE_STRIP])
{
	double sum = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		sum += rule->inputs[i].weight;
	if (rule->normalize && fabs(sum) >= 1e-8)
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			result[k] /= sum;
}

void merge_task(const struct merge *m, const struct merge_strip *strip,
		double result[restrict MERGE_STRIP])
{
	double weighed[MERGE_INPUTS_MAX][MERGE_STRIP], differences[MERGE_STRIP];
	int32_t kept[MERGE_STRIP];

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] = 0.0;
	for (unsigned i = 0; i < m->rule.n; i++) {
		merge_differences(strip, i, differences);
		choose(m, i, strip, kept);
		weigh(differences, m->parts[i].factor, kept, weighed[i]);
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			result[k] += weighed[i][k];
	}
	if (merge_elects(m->rule.method))
		elect(m, weighed, result);
	else
		divide_by_weights(&m->rule, result);
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] *= m->rule.lambda;
}
