/* SPDX-License-Identifier: MIT */
/* merge_trim.c - see merge_internal.h: finds cuts in the order of magnitudes, variances or
 * importances exactly, without sorting. The first pass counts values by the upper half of their
 * keys; the second counts the values in the bin of each cut by the lower half, which gives the
 * cut's key. If values with this key lie on both sides of the cut, a third pass counts up to the
 * element at the cut. */
#include "merge_internal.h"

#include <assert.h>

#define UPPER_BINS (1u << 16)
#define LOWER_BITS 15
#define LOWER_BINS (1u << LOWER_BITS)
#define CUTS	   2 /* cuts of an order */

static_assert((uint64_t)UPPER_BINS * LOWER_BINS == 1ull << 31, "a key is all its bits");
static_assert(MERGE_TRIM_COUNTS == UPPER_BINS && UPPER_BINS == CUTS * LOWER_BINS,
	      "both passes use the same table");

/* arcee_fusion has two equal orders for its three cuts. */
unsigned merge_trim_orders(const struct merge_rule *rule)
{
	switch (merge_choice(rule->method)) {
	case MERGE_CHOOSE_BY_MAGNITUDE:
		return rule->n;
	case MERGE_CHOOSE_BY_VARIANCE:
		return 1;
	case MERGE_CHOOSE_BY_IMPORTANCE:
		return 2;
	default:
		return 0;
	}
}

static void find_keys(const struct merge *m, unsigned order, const struct merge_strip *strip,
		      int32_t keys[MERGE_STRIP])
{
	double differences[MERGE_STRIP];

	switch (merge_choice(m->rule.method)) {
	case MERGE_CHOOSE_BY_VARIANCE:
		merge_variance_keys(&m->rule, strip, keys);
		break;
	case MERGE_CHOOSE_BY_IMPORTANCE:
		merge_importance_keys(strip, keys);
		break;
	default:
		merge_differences(strip, order, differences);
		merge_keys(differences, keys);
	}
}

/* Does the method need the values at the cuts rather than the elements between them? */
static bool seeks_values(const struct merge_rule *rule)
{
	return merge_choice(rule->method) == MERGE_CHOOSE_BY_IMPORTANCE;
}

/* Has a pass still to find the cut's key? */
static bool is_open(const struct merge *m, const struct merge_cut *cut)
{
	return (cut->rank > 0 || seeks_values(&m->rule)) &&
	       cut->rank < m->rule.rows * m->rule.columns;
}

static bool any_open(const struct merge *m)
{
	bool open = false;

	for (unsigned i = 0; i < merge_trim_orders(&m->rule); i++)
		open = open || is_open(m, &m->parts[i].from) || is_open(m, &m->parts[i].to);
	return open;
}

/* A cut before all values, behind all, or to be found. */
static struct merge_cut new_cut(uint64_t rank, uint64_t values)
{
	if (rank < values)
		return (struct merge_cut){ .rank = rank, .key = -1 };
	return (struct merge_cut){ .rank = rank, .key = INT32_MAX, .element = UINT64_MAX };
}

/* floor(share * values), at most all. */
static uint64_t count_of(double share, uint64_t values)
{
	const double count = share * (double)values;

	if (!(share > 0.0))
		return 0;
	return share >= 1.0 || count >= (double)values ? values : (uint64_t)count;
}

/* The number of values that sce keeps is not yet known, except that at least one is dropped. */
static void begin_variance(struct merge *m, uint64_t values)
{
	m->parts[0].from = new_cut(m->rule.select_topk < 1.0, values);
	m->parts[0].to = new_cut(values, values);
}

/* The quartiles, at positions rounded down as in mergekit (arcee_fusion.py,
 * approximate_quantiles()). */
static void begin_importance(struct merge *m, uint64_t values)
{
	const uint64_t last = values - 1;

	m->parts[0].from = new_cut(last / 4, values);
	m->parts[0].to = new_cut(last / 2, values);
	m->parts[1].from = new_cut(last / 4 * 3 + last % 4 * 3 / 4, values);
	m->parts[1].to = new_cut(values, values);
}

static void begin_magnitude(struct merge *m, unsigned i)
{
	const struct merge_input *input = &m->rule.inputs[i];
	const uint64_t values = m->rule.rows * m->rule.columns;
	const uint64_t kept = count_of(input->density, values);
	uint64_t largest = 0;

	if (m->rule.method != MERGE_TIES && input->density < 1.0)
		largest = count_of(input->gamma, values);
	if (largest > values - kept)
		largest = values - kept;
	m->parts[i].from = new_cut(values - kept - largest, values);
	m->parts[i].to = new_cut(values - largest, values);
}

void merge_trim_begin(struct merge *m)
{
	const enum merge_choice choice = merge_choice(m->rule.method);
	const uint64_t values = m->rule.rows * m->rule.columns;

	if (choice == MERGE_CHOOSE_BY_VARIANCE)
		begin_variance(m, values);
	else if (choice == MERGE_CHOOSE_BY_IMPORTANCE)
		begin_importance(m, values);
	else
		for (unsigned i = 0; i < m->rule.n; i++)
			begin_magnitude(m, i);
	if (!any_open(m))
		return;
	memset(m->scratch, 0, merge_scratch(&m->rule));
	m->then = m->pass;
	m->pass = MERGE_PASS_UPPER;
}

static uint64_t *counts_of(const struct merge *m, unsigned order)
{
	return (uint64_t *)m->scratch + (size_t)order * MERGE_TRIM_COUNTS;
}

static void count_upper(const struct merge *m, unsigned order, const int32_t *keys, size_t n)
{
	uint64_t *counts = counts_of(m, order);

	for (size_t k = 0; k < n; k++)
		counts[keys[k] >> LOWER_BITS]++;
}

static void count_lower(const struct merge *m, unsigned order, unsigned which,
			const struct merge_cut *cut, const int32_t *keys, size_t n)
{
	uint64_t *counts = counts_of(m, order) + (size_t)which * LOWER_BINS;

	if (is_open(m, cut))
		for (size_t k = 0; k < n; k++)
			if (keys[k] >> LOWER_BITS == cut->key >> LOWER_BITS)
				counts[keys[k] & (int32_t)(LOWER_BINS - 1)]++;
}

static void count_ties(struct merge_cut *cut, const struct merge_strip *strip, const int32_t *keys)
{
	unsigned ties = 0;

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		ties += keys[k] == cut->key;
	if (ties < cut->ties && strip->n == MERGE_STRIP) {
		cut->ties -= ties;
		return;
	}
	for (size_t k = 0; k < strip->n && cut->ties; k++)
		if (keys[k] == cut->key && --cut->ties == 0)
			cut->element = strip->element + k + 1;
}

void merge_trim_add(struct merge *m, const struct merge_strip *strip)
{
	int32_t keys[MERGE_STRIP];

	for (unsigned i = 0; i < merge_trim_orders(&m->rule); i++) {
		struct merge_cut *from = &m->parts[i].from, *to = &m->parts[i].to;

		if (!is_open(m, from) && !is_open(m, to))
			continue;
		find_keys(m, i, strip, keys);
		if (m->pass == MERGE_PASS_UPPER) {
			count_upper(m, i, keys, strip->n);
		} else if (m->pass == MERGE_PASS_LOWER) {
			count_lower(m, i, 0, from, keys, strip->n);
			count_lower(m, i, 1, to, keys, strip->n);
		} else {
			count_ties(from, strip, keys);
			count_ties(to, strip, keys);
		}
	}
}

/* The bin that contains a rank; *rank becomes the rank within the bin. */
static int32_t find_bin(const uint64_t *counts, uint32_t bins, uint64_t *rank)
{
	uint32_t bin = 0;

	for (; bin < bins - 1 && *rank >= counts[bin]; bin++)
		*rank -= counts[bin];
	return (int32_t)bin;
}

static void end_upper(struct merge *m, unsigned order, struct merge_cut *cut)
{
	if (!is_open(m, cut))
		return;
	cut->ties = cut->rank;
	cut->key = find_bin(counts_of(m, order), UPPER_BINS, &cut->ties) << LOWER_BITS;
}

static void end_lower(struct merge *m, unsigned order, unsigned which, struct merge_cut *cut)
{
	if (is_open(m, cut))
		cut->key |= find_bin(counts_of(m, order) + (size_t)which * LOWER_BINS, LOWER_BINS,
				     &cut->ties);
}

/* The first bin contains zeros and all values below 2^-134, which count as zero. */
static void set_variance_cut(struct merge *m)
{
	const uint64_t values = m->rule.rows * m->rule.columns;
	const uint64_t kept = count_of(m->rule.select_topk, values - counts_of(m, 0)[0]);

	m->parts[0].from = new_cut(values - kept, values);
}

static void end_upper_pass(struct merge *m)
{
	if (merge_choice(m->rule.method) == MERGE_CHOOSE_BY_VARIANCE)
		set_variance_cut(m);
	for (unsigned i = 0; i < merge_trim_orders(&m->rule); i++) {
		end_upper(m, i, &m->parts[i].from);
		end_upper(m, i, &m->parts[i].to);
	}
	memset(m->scratch, 0, merge_scratch(&m->rule));
	m->pass = any_open(m) ? MERGE_PASS_LOWER : m->then;
}

static void end_lower_pass(struct merge *m)
{
	bool ties = false;

	for (unsigned i = 0; i < merge_trim_orders(&m->rule); i++) {
		struct merge_part *part = &m->parts[i];

		end_lower(m, i, 0, &part->from);
		end_lower(m, i, 1, &part->to);
		ties = ties || part->from.ties || part->to.ties;
	}
	m->pass = ties && !seeks_values(&m->rule) ? MERGE_PASS_EQUAL_KEYS : m->then;
}

void merge_trim_end_pass(struct merge *m)
{
	if (m->pass == MERGE_PASS_UPPER)
		end_upper_pass(m);
	else if (m->pass == MERGE_PASS_LOWER)
		end_lower_pass(m);
	else
		m->pass = m->then;
}

/* Element of the strip from which on values with the cut's key lie behind the cut. */
static int32_t first_tie(const struct merge_cut *cut, const struct merge_strip *strip)
{
	if (cut->element <= strip->element)
		return 0;
	return cut->element - strip->element < MERGE_STRIP
		       ? (int32_t)(cut->element - strip->element)
		       : MERGE_STRIP;
}

void merge_trim_choose(const struct merge *m, unsigned order, const struct merge_strip *strip,
		       int32_t kept[restrict MERGE_STRIP])
{
	const struct merge_part *part = &m->parts[order];
	const int32_t from_tie = first_tie(&part->from, strip),
		      to_tie = first_tie(&part->to, strip);
	const int32_t from = part->from.key, to = part->to.key;
	int32_t keys[MERGE_STRIP];

	find_keys(m, order, strip, keys);
	for (int32_t k = 0; k < MERGE_STRIP; k++)
		kept[k] = ((keys[k] > from) | ((keys[k] == from) & (k >= from_tie))) &
			  ((keys[k] < to) | ((keys[k] == to) & (k < to_tie)));
}
