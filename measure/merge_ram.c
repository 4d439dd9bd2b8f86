/* SPDX-License-Identifier: MIT */
/* merge_ram.c - see merge_internal.h: ram and ramplus_tl. An input changes an element if its
 * difference from the base exceeds epsilon. Changes are averaged, other differences left out.
 * mergekit, ram.py, _prepare_ram_vectors(). */
#include "merge_internal.h"

#include <math.h>

/* Differences, 1 for each change, and the number of changes per element. */
struct changes {
	double differences[MERGE_INPUTS_MAX][MERGE_STRIP];
	double changed[MERGE_INPUTS_MAX][MERGE_STRIP];
	double counts[MERGE_STRIP];
};

static void find_changes(const struct merge_rule *rule, const struct merge_strip *strip,
			 struct changes *changes)
{
	const float epsilon = (float)rule->epsilon;

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		changes->counts[k] = 0.0;
	for (unsigned i = 0; i < rule->n; i++) {
		merge_differences(strip, i, changes->differences[i]);
		for (unsigned k = 0; k < MERGE_STRIP; k++) {
			const float size = fabsf((float)changes->differences[i][k]);

			changes->changed[i][k] = size > epsilon ? 1.0 : 0.0;
			changes->counts[k] += changes->changed[i][k];
		}
	}
}

void merge_ram_begin(struct merge *m)
{
	for (unsigned i = 0; i < m->rule.n; i++) {
		m->parts[i].factor = 1.0;
		m->parts[i].shared = m->parts[i].alone = 0;
	}
	if (m->rule.method == MERGE_RAMPLUS_TL)
		m->pass = MERGE_PASS_CHANGES;
}

void merge_changes_add(struct merge *m, const struct merge_strip *strip)
{
	struct changes changes;

	find_changes(&m->rule, strip, &changes);
	for (unsigned i = 0; i < m->rule.n; i++)
		for (size_t k = 0; k < strip->n; k++)
			if (changes.changed[i][k] > 0.0) {
				m->parts[i].shared += changes.counts[k] > 1.0;
				m->parts[i].alone += changes.counts[k] == 1.0;
			}
}

/* ram.py, ramplus_tl_merge(): changes by one input alone are enlarged. */
void merge_changes_end(struct merge *m)
{
	const struct merge_rule *rule = &m->rule;

	for (unsigned i = 0; i < rule->n; i++) {
		const struct merge_part *part = &m->parts[i];
		const double alone = fmax((double)part->alone, rule->epsilon);
		const double rho = (double)part->shared / alone;

		/* With epsilon 0, an input without changes would divide 0 by 0. */
		m->parts[i].factor = 1.0 + rule->r * fmin(fmax(rho, 0.0), rule->alpha);
	}
	m->pass = MERGE_PASS_NONE;
}

void merge_ram(const struct merge *m, const struct merge_strip *strip,
	       double result[restrict MERGE_STRIP])
{
	struct changes changes;

	find_changes(&m->rule, strip, &changes);
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] = 0.0;
	for (unsigned i = 0; i < m->rule.n; i++)
		for (unsigned k = 0; k < MERGE_STRIP; k++) {
			const double count = changes.counts[k];
			const double share = count > 1.0 ? 1.0 / count : m->parts[i].factor;

			result[k] += changes.differences[i][k] * (changes.changed[i][k] * share);
		}
}
