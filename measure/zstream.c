/* SPDX-License-Identifier: MIT */
/* zstream.c - see zstream.h. */
#include "zstream.h"
#include "radix.h"
#include "zmeasure_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define LOWER_BITS 13
#define CELL_BITS  16

static_assert(1u << LOWER_BITS == ZSTREAM_LOWER, "the lower bits");
static_assert((uint64_t)ZSTREAM_UPPER * ZSTREAM_LOWER == 1ull << 32, "a key is all its bits");
static_assert(ZSTREAM_CELLS <= UINT8_MAX && ZSTREAM_RANKS <= UINT8_MAX, "table entries are bytes");

/* The first pass. */

static void count_upper(struct zstream *z, const float *piece, size_t count)
{
	moments_add(&z->moments, piece, count);
	for (size_t i = 0; i < count; i++)
		if (isfinite(piece[i]))
			z->tables.upper[radix_key(piece[i]) >> LOWER_BITS]++;
}

static int compare_ranks(const void *a, const void *b)
{
	const uint64_t x = ((const struct zstream_rank *)a)->rank;
	const uint64_t y = ((const struct zstream_rank *)b)->rank;

	return (x > y) - (x < y);
}

/* The ranks of the quantiles, of lo and of hi, ascending. */
static void choose_ranks(struct zstream *z)
{
	const uint64_t n = z->moments.finite, lowest = distribution_lowest_rank(n);
	unsigned i;

	for (i = 0; i <= DISTRIBUTION_SPACINGS; i++)
		z->ranks[i].rank = distribution_quantile_rank(n, i);
	z->ranks[i++].rank = lowest;
	z->ranks[i].rank = n - 1 - lowest;
	qsort(z->ranks, ZSTREAM_RANKS, sizeof(z->ranks[0]), compare_ranks);
}

/* The bin of each rank. */
static void find_bins(struct zstream *z)
{
	uint64_t below = 0;
	unsigned i = 0;

	for (uint32_t bin = 0; bin < ZSTREAM_UPPER; bin++) {
		const uint64_t count = z->tables.upper[bin];

		for (; i < ZSTREAM_RANKS && z->ranks[i].rank < below + count; i++) {
			z->ranks[i].bin = bin;
			z->ranks[i].below = below;
		}
		below += count;
	}
}

static void prepare_second(struct zstream *z)
{
	choose_ranks(z);
	find_bins(z);
	moments_centre(&z->moments);
	memset(&z->tables.second, 0, sizeof(z->tables.second));
	for (unsigned i = 0; i < ZSTREAM_RANKS; i++)
		z->tables.second.row[z->ranks[i].bin] = (uint8_t)(i + 1);
}

/* The second pass. */

static void count_lower(struct zstream *z, const float *piece, size_t count)
{
	moments_add_centred(&z->moments, piece, count);
	for (size_t i = 0; i < count; i++) {
		const uint32_t key = radix_key(piece[i]);
		const uint8_t row = z->tables.second.row[key >> LOWER_BITS];

		if (row && isfinite(piece[i]))
			z->tables.second.lower[row][key & (ZSTREAM_LOWER - 1)]++;
	}
}

static void find_keys(struct zstream *z)
{
	for (unsigned i = 0; i < ZSTREAM_RANKS; i++) {
		struct zstream_rank *r = &z->ranks[i];
		const uint64_t *counts = z->tables.second.lower[z->tables.second.row[r->bin]];
		uint64_t below = r->below + counts[0];
		uint32_t low = 0;

		while (low < ZSTREAM_LOWER - 1 && below <= r->rank)
			below += counts[++low];
		r->key = r->bin << LOWER_BITS | low;
	}
}

static uint32_t key_at(const struct zstream *z, uint64_t rank)
{
	const struct zstream_rank sought = { .rank = rank };
	const struct zstream_rank *found =
		bsearch(&sought, z->ranks, ZSTREAM_RANKS, sizeof(sought), compare_ranks);

	return found->key;
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Cells begin above each inner edge, at each quantile's value, and right after it. */
static void cut_cells(struct zstream *z)
{
	uint32_t n = 0, kept = 1;

	z->from[n++] = 0;
	for (unsigned i = 0; i < DISTRIBUTION_BINS - 1; i++)
		z->from[n++] = radix_key_above(distribution_edge(&z->distribution, i));
	for (unsigned i = 0; i <= DISTRIBUTION_SPACINGS; i++) {
		const uint32_t key = key_at(z, distribution_quantile_rank(z->moments.finite, i));

		z->from[n++] = key;
		z->from[n++] = key + 1;
	}
	qsort(z->from, n, sizeof(z->from[0]), compare_keys);
	for (uint32_t i = 1; i < n; i++)
		if (z->from[i] != z->from[kept - 1])
			z->from[kept++] = z->from[i];
	z->from[kept] = UINT32_MAX;
	z->n_cells = kept;
}

static void prepare_cells(struct zstream *z)
{
	for (uint32_t i = 0; i < z->n_cells; i++)
		z->cells[i] = (struct zstream_cell){ .min = UINT32_MAX, .max = 0 };
	for (uint32_t upper = 0, i = 0; upper < 1u << CELL_BITS; upper++) {
		while (z->from[i + 1] <= upper << (32 - CELL_BITS))
			i++;
		z->tables.cell_of[upper] = (uint8_t)i;
	}
}

/* False: no third pass is needed, because the sample is a spike. */
static bool prepare_third(struct zstream *z)
{
	const uint64_t n = z->moments.finite, lowest = distribution_lowest_rank(n);
	uint32_t lo, hi;

	find_keys(z);
	lo = key_at(z, lowest);
	hi = key_at(z, n - 1 - lowest);
	if (hi <= lo)
		return false;
	distribution_begin(&z->distribution, n, (double)radix_value(lo), (double)radix_value(hi));
	cut_cells(z);
	prepare_cells(z);
	return true;
}

/* The third pass. */

static void count_in_cell(struct zstream_cell *cell, uint32_t key)
{
	cell->count++;
	if (key <= cell->min) {
		cell->min_ties = key < cell->min ? 1 : cell->min_ties + 1;
		cell->min = key;
	}
	if (key >= cell->max) {
		cell->max_ties = key > cell->max ? 1 : cell->max_ties + 1;
		cell->max = key;
	}
}

static void count_cells(struct zstream *z, const float *piece, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t key = radix_key(piece[i]);
		uint32_t cell = z->tables.cell_of[key >> (32 - CELL_BITS)];

		if (!isfinite(piece[i]))
			continue;
		while (key >= z->from[cell + 1])
			cell++;
		count_in_cell(&z->cells[cell], key);
	}
}

static void read_cells(struct zstream *z)
{
	uint64_t below = 0;

	for (uint32_t i = 0; i < z->n_cells; i++) {
		const struct zstream_cell *cell = &z->cells[i];

		if (cell->count == 0)
			continue;
		distribution_add(&z->distribution, (double)radix_value(cell->min), below,
				 cell->min_ties);
		below += cell->count;
		if (cell->max != cell->min)
			distribution_add(&z->distribution, (double)radix_value(cell->max),
					 below - cell->max_ties, cell->max_ties);
	}
	distribution_end(&z->distribution);
}

/* The outside. */

void zstream_begin(struct zstream *z)
{
	z->pass = ZSTREAM_FIRST;
	z->pending = 0;
	moments_init(&z->moments);
	memset(z->tables.upper, 0, sizeof(z->tables.upper));
}

static void add_piece(struct zstream *z, const float *piece, size_t count)
{
	switch (z->pass) {
	case ZSTREAM_FIRST:
		count_upper(z, piece, count);
		break;
	case ZSTREAM_SECOND:
		count_lower(z, piece, count);
		break;
	case ZSTREAM_THIRD:
		count_cells(z, piece, count);
		break;
	case ZSTREAM_DONE:
		break;
	}
}

/* Pieces begin at multiples of their length, independent of the chunks. */
void zstream_add(struct zstream *z, const float *values, size_t count)
{
	while (count > 0) {
		size_t taken = SAMPLE_SPAN - z->pending;

		if (taken > count)
			taken = count;
		if (taken == SAMPLE_SPAN) {
			add_piece(z, values, taken);
		} else {
			memcpy(z->piece + z->pending, values, taken * sizeof(*values));
			z->pending += taken;
		}
		if (z->pending == SAMPLE_SPAN) {
			add_piece(z, z->piece, SAMPLE_SPAN);
			z->pending = 0;
		}
		values += taken;
		count -= taken;
	}
}

static enum zstream_pass end_first(struct zstream *z)
{
	const uint64_t values = z->moments.finite + z->moments.nonfinite;

	if (zmeasure_settle(&z->result, &z->moments, values))
		return ZSTREAM_DONE;
	prepare_second(z);
	return ZSTREAM_SECOND;
}

static enum zstream_pass end_second(struct zstream *z)
{
	if (zmeasure_spread(&z->result, &z->moments))
		return ZSTREAM_DONE;
	if (prepare_third(z))
		return ZSTREAM_THIRD;
	zmeasure_conclude(&z->result, &z->moments, NULL);
	return ZSTREAM_DONE;
}

static enum zstream_pass end_third(struct zstream *z)
{
	read_cells(z);
	zmeasure_conclude(&z->result, &z->moments, &z->distribution);
	return ZSTREAM_DONE;
}

bool zstream_again(struct zstream *z)
{
	add_piece(z, z->piece, z->pending);
	z->pending = 0;
	switch (z->pass) {
	case ZSTREAM_FIRST:
		z->pass = end_first(z);
		break;
	case ZSTREAM_SECOND:
		z->pass = end_second(z);
		break;
	case ZSTREAM_THIRD:
		z->pass = end_third(z);
		break;
	case ZSTREAM_DONE:
		break;
	}
	return z->pass != ZSTREAM_DONE;
}

void zstream_end(const struct zstream *z, struct zmeasure *result)
{
	*result = z->result;
}
