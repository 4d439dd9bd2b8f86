/* SPDX-License-Identifier: MIT */
/* diff_adapter_table.c - see diff_adapter_table.h. */
#include "fs/diff/diff_adapter_table.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_factors.h"
#include "fs/diff/diff_low_rank.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_table.h"
#include "fs/storage/view.h"
#include "fs/tensor/tensor_factors.h"
#include "fs/util/halt.h"
#include "fs/util/parallel.h"
#include "gguf/types.h"
#include "measure/low_rank.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 1, 2, 4, ... 256. */
#define RANKS_MOST 9u

/* Widths of a number by "%.9g", and of 0 to 1 by "%.8f". */
#define NORM_WIDTH 16
#define KEPT_WIDTH 10

#define CELL_MOST (NORM_WIDTH + RANKS_MOST * (KEPT_WIDTH + 1) + 1 + DIFF_LOW_RANK_WIDTH + 1)

/* Energy of a pair's difference: the sum of squares, and the part that each rank keeps. */
struct kept_energy {
	bool known;
	bool nonfinite;
	double energy;		 /* NaN: no values */
	double kept[RANKS_MOST]; /* kept energy for each of the ranks */
};

struct adapter_table {
	struct view_generator generator;
	struct diff_factors *factors; /* owns a reference */
	uint32_t rank;
	uint32_t ranks[RANKS_MOST];
	unsigned n_ranks;
	pthread_mutex_t lock; /* protects `known` of all; known pairs are immutable */
	struct kept_energy pairs[];
};

static struct diff *diff_of(const struct adapter_table *table)
{
	return diff_factors_diff(table->factors);
}

static void add_factor(const struct adapter_table *table, const struct diff_factor *factor,
		       uint32_t rank, struct kept_energy *to)
{
	to->energy += factor->energy;
	to->nonfinite |= factor->nonfinite > 0;
	for (unsigned i = 0; i < table->n_ranks; i++)
		for (uint32_t k = 0; k < table->ranks[i] && k < rank; k++)
			to->kept[i] += factor->squares[k];
}

/* Energies of all slices of a pair that is in the adapter. */
static int find_kept(const struct adapter_table *table, size_t i, const atomic_bool *stop,
		     struct kept_energy *to)
{
	const struct diff_pair *pair = &diff_of(table)->pairs[i];
	const uint64_t slices = diff_low_rank_slices(pair);
	int rc = 0;

	for (uint64_t slice = 0; rc == 0 && slice < slices; slice++) {
		const struct diff_matrix matrix = { i, (uint32_t)slice,
						    diff_low_rank_rank(pair, table->rank) };
		const struct diff_factor *factor =
			diff_factors_get(table->factors, &matrix, stop, &rc);

		if (!factor)
			break;
		add_factor(table, factor, matrix.rank, to);
		diff_factors_put(table->factors, factor);
	}
	return rc;
}

/* Energy of a pair that is not in the adapter. */
static int find_energy(const struct adapter_table *table, size_t i, const atomic_bool *stop,
		       struct kept_energy *to)
{
	const struct diff_pair *pair = &diff_of(table)->pairs[i];
	const struct halt halt = { stop, diff_params(diff_of(table))->ending };
	struct tensor_factors of = { .here = &pair->here->at, .there = &pair->there->at };
	struct low_rank low;
	int rc;

	shape_elements(of.here->organ.ne, &of.rows);
	if (of.rows == 0)
		return 0;
	of.rows /= of.here->organ.ne[0];
	rc = tensor_factors(&of, &halt, &low);
	if (rc < 0)
		return rc;
	to->energy = low.energy;
	to->nonfinite = low.nonfinite > 0;
	low_rank_release(&low);
	return 0;
}

static int find(const struct adapter_table *table, size_t i, const atomic_bool *stop,
		struct kept_energy *to)
{
	const enum diff_low_rank status = diff_low_rank(diff_of(table), i);

	if (status == DIFF_LOW_RANK_OK)
		return find_kept(table, i, stop, to);
	if (status != DIFF_LOW_RANK_SAME && diff_low_rank_is_measured(status))
		return find_energy(table, i, stop, to);
	if (status != DIFF_LOW_RANK_SAME)
		to->energy = NAN;
	return 0;
}

/* Pairs that several threads examine for one caller. */
struct table_lines {
	struct adapter_table *table;
	size_t first;
	const atomic_bool *stop;
};

/* Two threads may compute the same pair; the results are equal. */
static int find_line(void *context, size_t i)
{
	const struct table_lines *lines = context;
	struct adapter_table *table = lines->table;
	struct kept_energy found = { .known = true }, *line = &table->pairs[lines->first + i];
	bool known;
	int rc = 0;

	pthread_mutex_lock(&table->lock);
	known = line->known;
	pthread_mutex_unlock(&table->lock);
	if (!known)
		rc = find(table, lines->first + i, lines->stop, &found);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&table->lock);
	if (!line->known)
		*line = found;
	pthread_mutex_unlock(&table->lock);
	return 0;
}

static int find_lines(struct adapter_table *table, size_t first, size_t n, const atomic_bool *stop)
{
	struct table_lines lines = { table, first, stop };

	return parallel_run(diff_params(diff_of(table))->pool, parallel_threads() - 1, n, find_line,
			    &lines);
}

/* The last cell is the total of all pairs. */
static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	struct adapter_table *table = (struct adapter_table *)generator;
	const size_t pairs = diff_of(table)->n;

	if (first + n > pairs)
		return find_lines(table, 0, pairs, stop);
	return find_lines(table, first, n, stop);
}

static struct kept_energy total(const struct adapter_table *table)
{
	struct kept_energy sum = { .known = true };

	for (size_t i = 0; i < diff_of(table)->n; i++) {
		const struct kept_energy *pair = &table->pairs[i];

		if (isnan(pair->energy))
			continue;
		sum.energy += pair->energy;
		sum.nonfinite |= pair->nonfinite;
		for (unsigned r = 0; r < table->n_ranks; r++)
			sum.kept[r] += pair->kept[r];
	}
	return sum;
}

/* Kept part of the energy, 1 for equal tensors and at most 1 despite rounding. */
static double part_of(const struct kept_energy *of, unsigned r)
{
	if (isnan(of->energy))
		return NAN;
	return of->energy > 0 ? fmin(1, of->kept[r] / of->energy) : 1;
}

static size_t cell_length(const struct adapter_table *table)
{
	return NORM_WIDTH + table->n_ranks * (KEPT_WIDTH + 1u) + 1 + DIFF_LOW_RANK_WIDTH + 1;
}

/* Programs skip blanks before a number, but not after a word. */
static void print_cell(const struct adapter_table *table, const struct kept_energy *of,
		       const char *status, char text[CELL_MOST + 1])
{
	const char *word = of->nonfinite ? "nonfinite" : status;
	int at = snprintf(text, CELL_MOST + 1, "%*.9g", NORM_WIDTH,
			  diff_table_number(sqrt(of->energy)));

	for (unsigned r = 0; r < table->n_ranks; r++) {
		const int more =
			r + 1 < table->n_ranks ? 0 : DIFF_LOW_RANK_WIDTH - (int)strlen(word);

		at += snprintf(text + at, CELL_MOST + 1 - (size_t)at, "\t%*.8f", KEPT_WIDTH + more,
			       diff_table_number(part_of(of, r)));
	}
	snprintf(text + at, CELL_MOST + 1 - (size_t)at, "\t%s\n", word);
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct adapter_table *table = (struct adapter_table *)generator;
	const int rc = prepare(generator, number, 1, stop);
	char text[CELL_MOST + 1];

	if (rc < 0)
		return rc;
	if (number < diff_of(table)->n) {
		print_cell(table, &table->pairs[number],
			   diff_low_rank_word(diff_low_rank(diff_of(table), number)), text);
	} else {
		const struct kept_energy sum = total(table);

		print_cell(table, &sum, diff_low_rank_word(DIFF_LOW_RANK_OK), text);
	}
	if (strlen(text) != length)
		return -EIO;
	memcpy(bytes, text, length);
	return 0;
}

static void release(struct view_generator *generator)
{
	struct adapter_table *table = (struct adapter_table *)generator;

	diff_factors_unref(table->factors);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct adapter_table *new_table(struct diff_factors *factors, uint32_t rank)
{
	const size_t n = diff_factors_diff(factors)->n;
	struct adapter_table *table = calloc(1, sizeof(*table) + n * sizeof(table->pairs[0]));

	if (!table)
		return NULL;
	table->generator = (struct view_generator){ prepare, make, release };
	table->factors = diff_factors_ref(factors);
	table->rank = rank;
	for (uint32_t each = 1; each < rank; each *= 2)
		table->ranks[table->n_ranks++] = each;
	table->ranks[table->n_ranks++] = rank;
	pthread_mutex_init(&table->lock, NULL);
	return table;
}

static void print_header(const struct adapter_table *table, FILE *out)
{
	fputs("class\tkind\tblock\ttensor\trank\tnorm", out);
	for (unsigned r = 0; r < table->n_ranks; r++)
		fprintf(out, "\tkept-%" PRIu32, table->ranks[r]);
	fputs("\tstatus\n", out);
}

static void print_pair(const struct adapter_table *table, size_t i, FILE *out)
{
	const struct diff_pair *pair = &diff_of(table)->pairs[i];
	const bool is_ok = diff_low_rank(diff_of(table), i) == DIFF_LOW_RANK_OK;

	diff_table_print_tensor(diff_pair_any(pair), out);
	fprintf(out, "%" PRIu32 "\t", is_ok ? diff_low_rank_rank(pair, table->rank) : 0);
}

/* Text of the table without cells, to free; ends receives the offset of each cell. NULL: out of
 * memory. */
static char *described(const struct adapter_table *table, size_t *ends)
{
	const size_t n = diff_of(table)->n;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool well = out != NULL;

	if (well)
		print_header(table, out);
	for (size_t i = 0; well && i <= n; i++) {
		if (i < n)
			print_pair(table, i, out);
		else
			fprintf(out, "total\t-\t-\t-\t%" PRIu32 "\t", table->rank);
		well = fflush(out) == 0;
		ends[i] = size;
	}
	if (out && fclose(out) != 0)
		well = false;
	if (well)
		return text;
	free(text);
	return NULL;
}

/* Make the view, which owns table and text, also on failure. */
static struct view *view_of(struct adapter_table *table, char *text, const size_t *ends, size_t n)
{
	struct segment *segments = calloc(2 * n, sizeof(*segments));
	struct view *view = NULL;
	size_t at = 0;

	if (!segments || !text) {
		free(text);
		free(segments);
		release(&table->generator);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		segments[2 * i] = (struct segment){ .kind = SEGMENT_MEMORY,
						    .length = ends[i] - at,
						    .memory = text + at };
		segments[2 * i + 1] =
			(struct segment){ .kind = SEGMENT_COMPUTED, .length = cell_length(table) };
		at = ends[i];
	}
	view = view_new_computed(segments, 2 * n, text, &table->generator);
	free(segments);
	return view;
}

struct view *diff_adapter_table_view(struct diff_factors *factors, uint32_t rank)
{
	const size_t n = diff_factors_diff(factors)->n + 1;
	size_t *ends = calloc(n, sizeof(*ends));
	struct adapter_table *table = ends ? new_table(factors, rank) : NULL;
	struct view *view = NULL;

	if (table)
		view = view_of(table, described(table, ends), ends, n);
	free(ends);
	return view;
}
