/* SPDX-License-Identifier: MIT */
/* merge_trim.c - see merge_internal.h: the cuts in the order of magnitudes, found exactly without
 * sorting. The first pass counts the values by the upper half of their keys, the second those in
 * the bin of each cut by the lower half: the key is known now. Values of that very key may lie on
 * both sides; a third pass, where there are such, counts up to the element at which they part. */
#include "merge_internal.h"

#include <assert.h>

#define UPPER_BINS (1u << 16)
#define LOWER_BITS 15
#define LOWER_BINS (1u << LOWER_BITS)
#define CUTS	   2 /* of an input */

static_assert((uint64_t)UPPER_BINS * LOWER_BINS == 1ull << 31, "a key is all its bits");
static_assert(MERGE_TRIM_COUNTS == UPPER_BINS && UPPER_BINS == CUTS * LOWER_BINS,
	      "both passes use the same table");

/* Does a pass have to look for the cut's key? */
static bool is_open(const struct merge *m, const struct merge_cut *cut)
{
	return cut->rank > 0 && cut->rank < m->rule.rows * m->rule.columns;
}

/* A cut that lies before all values, behind all, or has to be found. */
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

static void begin_part(struct merge *m, unsigned i)
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
	bool open = false;

	for (unsigned i = 0; i < m->rule.n; i++) {
		begin_part(m, i);
		open = open || is_open(m, &m->parts[i].from) || is_open(m, &m->parts[i].to);
	}
	if (!open)
		return;
	memset(m->scratch, 0, merge_scratch(&m->rule));
	m->then = m->pass;
	m->pass = MERGE_PASS_UPPER;
}

/* Of an input. */
static uint64_t *counts_of(const struct merge *m, unsigned input)
{
	return (uint64_t *)m->scratch + (size_t)input * MERGE_TRIM_COUNTS;
}

static void count_upper(const struct merge *m, unsigned input, const int32_t *keys, size_t n)
{
	uint64_t *counts = counts_of(m, input);

	for (size_t k = 0; k < n; k++)
		counts[keys[k] >> LOWER_BITS]++;
}

static void count_lower(const struct merge *m, unsigned input, unsigned which,
			const struct merge_cut *cut, const int32_t *keys, size_t n)
{
	uint64_t *counts = counts_of(m, input) + (size_t)which * LOWER_BINS;

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

	for (unsigned i = 0; i < m->rule.n; i++) {
		struct merge_cut *from = &m->parts[i].from, *to = &m->parts[i].to;

		if (!is_open(m, from) && !is_open(m, to))
			continue;
		merge_keys(strip, i, keys);
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

/* The bin that holds a rank, of which what lies in lower bins is taken away. */
static int32_t find_bin(const uint64_t *counts, uint32_t bins, uint64_t *rank)
{
	uint32_t bin = 0;

	for (; bin < bins - 1 && *rank >= counts[bin]; bin++)
		*rank -= counts[bin];
	return (int32_t)bin;
}

static void end_upper(struct merge *m, unsigned input, struct merge_cut *cut)
{
	if (!is_open(m, cut))
		return;
	cut->ties = cut->rank;
	cut->key = find_bin(counts_of(m, input), UPPER_BINS, &cut->ties) << LOWER_BITS;
}

static void end_lower(struct merge *m, unsigned input, unsigned which, struct merge_cut *cut)
{
	if (is_open(m, cut))
		cut->key |= find_bin(counts_of(m, input) + (size_t)which * LOWER_BINS, LOWER_BINS,
				     &cut->ties);
}

void merge_trim_end_pass(struct merge *m)
{
	bool ties = false;

	for (unsigned i = 0; i < m->rule.n; i++) {
		struct merge_part *part = &m->parts[i];

		if (m->pass == MERGE_PASS_UPPER) {
			end_upper(m, i, &part->from);
			end_upper(m, i, &part->to);
		} else if (m->pass == MERGE_PASS_LOWER) {
			end_lower(m, i, 0, &part->from);
			end_lower(m, i, 1, &part->to);
			ties = ties || part->from.ties || part->to.ties;
		}
	}
	if (m->pass == MERGE_PASS_UPPER)
		memset(m->scratch, 0, merge_scratch(&m->rule));
	m->pass = m->pass == MERGE_PASS_UPPER ? MERGE_PASS_LOWER : ties ? MERGE_PASS_TIES : m->then;
}

/* Of a strip, the values of the cut's key from this one on lie behind the cut. */
static int32_t first_tie(const struct merge_cut *cut, const struct merge_strip *strip)
{
	if (cut->element <= strip->element)
		return 0;
	return cut->element - strip->element < MERGE_STRIP
		       ? (int32_t)(cut->element - strip->element)
		       : MERGE_STRIP;
}

void merge_trim_choose(const struct merge_part *part, const struct merge_strip *strip,
		       unsigned input, int32_t kept[restrict MERGE_STRIP])
{
	const int32_t from_tie = first_tie(&part->from, strip),
		      to_tie = first_tie(&part->to, strip);
	const int32_t from = part->from.key, to = part->to.key;
	int32_t keys[MERGE_STRIP];

	merge_keys(strip, input, keys);
	for (int32_t k = 0; k < MERGE_STRIP; k++)
		kept[k] = ((keys[k] > from) | ((keys[k] == from) & (k >= from_tie))) &
			  ((keys[k] < to) | ((keys[k] == to) & (k < to_tie)));
}
