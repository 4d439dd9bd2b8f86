/* SPDX-License-Identifier: MIT */
/* picture_grid.c - see picture_grid.h; picture_grid_order.c has the order of rows,
 * picture_grid_spread.c the deviations. Sorting instead of searching keeps it fast. */
#include "fs/files/picture_grid.h"
#include "fs/util/paths.h"
#include "measure/zmeasure.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* A tensor on its way into a cell. */
struct grid_entry {
	const struct figure *figure;
	struct picture_grid_rank rank;
	size_t side, number; /* place in file order */
	size_t copy;	     /* number of earlier tensors of this role in this block */
};

/* The angle to show, NaN if there is none or the status makes it meaningless. */
static double theta_of(const struct figure *figure)
{
	const struct zmeasure *z = figure ? figure->z : NULL;

	if (!z || (z->status != ZMEASURE_OK && z->status != ZMEASURE_SPIKE) || !isfinite(z->theta))
		return NAN;
	return fmin(fmax(z->theta, 0.0), 90.0);
}

char picture_grid_mark(const struct figure *figure)
{
	static const char marks[] = {
		[ZMEASURE_OK] = ' ',	[ZMEASURE_CONSTANT] = '=', [ZMEASURE_ZERO] = 'z',
		[ZMEASURE_SHORT] = 's', [ZMEASURE_SPIKE] = '^',	   [ZMEASURE_NONFINITE] = '!',
	};

	if (!figure->z || figure->z->status >= sizeof(marks))
		return '-';
	if (!isfinite(figure->z->theta))
		return '!';
	return marks[figure->z->status];
}

const char *picture_grid_mark_name(char mark)
{
	static const char *const names[] = { "constant", "zero",      "short",
					     "spike",	 "nonfinite", "no values" };
	const char *place = mark ? strchr(GRID_MARKS, mark) : NULL;

	return place ? names[place - GRID_MARKS] : "";
}

static bool in_block(const struct figure *figure)
{
	return figure->block >= 0;
}

/* Tensors in blocks come first. */
static int compare_roles(const struct grid_entry *a, const struct grid_entry *b)
{
	const int order = COMPARE(in_block(b->figure), in_block(a->figure));

	return order ? order : picture_grid_compare_ranks(&a->rank, &b->rank);
}

/* Order by role, block, side and file. */
static int by_role(const void *left, const void *right)
{
	const struct grid_entry *a = left, *b = right;
	int order = compare_roles(a, b);

	if (!order)
		order = COMPARE(a->figure->block, b->figure->block);
	if (!order)
		order = COMPARE(a->side, b->side);
	return order ? order : COMPARE(a->number, b->number);
}

static int by_row(const void *left, const void *right)
{
	const struct grid_entry *a = left, *b = right;
	int order = compare_roles(a, b);

	if (!order)
		order = COMPARE(a->copy, b->copy);
	if (!order)
		order = COMPARE(a->figure->block, b->figure->block);
	return order ? order : COMPARE(a->side, b->side);
}

static bool same_row(const struct grid_entry *a, const struct grid_entry *b)
{
	return compare_roles(a, b) == 0 && a->copy == b->copy;
}

static size_t collect(struct grid_entry *entries, size_t n, const struct figures *figures,
		      size_t side)
{
	const size_t before = n;

	for (size_t i = 0; i < figures->n + figures->n_removed; i++, n++) {
		const struct figure *figure =
			i < figures->n ? &figures->figures[i] : &figures->removed[i - figures->n];

		entries[n] = (struct grid_entry){ figure, picture_grid_rank_of(figure), side,
						  n - before, 0 };
	}
	return n;
}

/* Number the tensors of one role in one block: each belongs to a row of its own. */
static void count_copies(struct grid_entry *entries, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare_roles(&entries[i], &entries[i - 1]) == 0 &&
		    entries[i].figure->block == entries[i - 1].figure->block &&
		    entries[i].side == entries[i - 1].side)
			entries[i].copy = entries[i - 1].copy + 1;
}

/* Make cells and rows from entries sorted by row. */
static void fill_cells(struct picture_grid *grid, const struct grid_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct grid_entry *entry = &entries[i], *before = i ? entry - 1 : NULL;
		const struct figure *figure = entry->figure;
		const bool new_row = !before || !same_row(entry, before);
		struct picture_grid_cell *cell;

		if (in_block(figure) && new_row)
			grid->rows[grid->n_rows++] = (struct picture_grid_row){
				.role = figure->role,
				.section = before && before->rank.section != entry->rank.section,
				.medians = { NAN, NAN },
			};
		if (new_row || before->figure->block != figure->block ||
		    before->side == entry->side) {
			grid->cells[grid->n++] = (struct picture_grid_cell){
				.sides = { { NULL, NAN, NAN, NAN, GRID_NONE, GRID_NO_DONOR },
					   { NULL, NAN, NAN, NAN, GRID_NONE, GRID_NO_DONOR } },
				.row = grid->n_rows ? grid->n_rows - 1 : 0,
				.delta = NAN,
				.step = GRID_NONE,
			};
			grid->in_blocks += in_block(figure);
		}
		cell = &grid->cells[grid->n - 1];
		cell->sides[entry->side].figure = figure;
		cell->sides[entry->side].theta = theta_of(figure);
	}
}

static int by_number(const void *left, const void *right)
{
	const int32_t *a = left, *b = right;

	return COMPARE(*a, *b);
}

/* Find the columns, and mark and then count those with a tensor that was not removed. */
static void find_columns(struct picture_grid *grid)
{
	for (size_t i = 0; i < grid->in_blocks; i++)
		grid->blocks[i] = picture_grid_side_of(&grid->cells[i])->figure->block;
	qsort(grid->blocks, grid->in_blocks, sizeof(*grid->blocks), by_number);
	for (size_t i = 0; i < grid->in_blocks; i++)
		if (!grid->n_blocks || grid->blocks[grid->n_blocks - 1] != grid->blocks[i])
			grid->blocks[grid->n_blocks++] = grid->blocks[i];
	for (size_t i = 0; i < grid->in_blocks; i++) {
		struct picture_grid_cell *cell = &grid->cells[i];
		const int32_t block = picture_grid_side_of(cell)->figure->block;
		const int32_t *column =
			bsearch(&block, grid->blocks, grid->n_blocks, sizeof(*column), by_number);

		cell->column = (size_t)(column - grid->blocks);
		grid->there[cell->column] |= picture_grid_is_there(cell->sides[0].figure) ||
					     picture_grid_is_there(cell->sides[1].figure);
	}
	for (size_t c = 0; c < grid->n_blocks; c++)
		if (grid->there[c])
			grid->there[grid->n_there++] = grid->blocks[c];
}

static int by_key(const void *left, const void *right)
{
	const struct picture_grid_donor *a = left, *b = right;

	return strcmp(a->key, b->key);
}

static int by_cells(const void *left, const void *right)
{
	const struct picture_grid_donor *a = left, *b = right;

	return a->cells == b->cells ? by_key(a, b) : COMPARE(b->cells, a->cells);
}

static int by_label(const void *left, const void *right)
{
	return strcmp((*(struct picture_grid_donor *const *)left)->label,
		      (*(struct picture_grid_donor *const *)right)->label);
}

/* Order pointers to donors by key. */
static int by_key_of(const void *left, const void *right)
{
	return by_key(*(struct picture_grid_donor *const *)left,
		      *(struct picture_grid_donor *const *)right);
}

/* Label of a donor: "clerk" for "/models/clerk.gguf", "parts/" for "/models/parts/"; to free, or
 * NULL. */
static char *label_of(const char *key)
{
	const char *last = key + strlen(key);

	if (last == key || last[-1] != '/')
		return paths_stem(key);
	last--;
	while (last > key && last[-1] != '/')
		last--;
	return strdup(last);
}

/* Label the donors, by path if names are equal. sorted has room for all. False: out of memory. */
static bool name_donors(struct picture_grid *grid, struct picture_grid_donor **sorted)
{
	bool shared = false;

	for (size_t i = 0; i < grid->n_donors; i++) {
		sorted[i] = &grid->donors[i];
		sorted[i]->label = label_of(sorted[i]->key);
		if (!sorted[i]->label)
			return false;
	}
	qsort(sorted, grid->n_donors, sizeof(struct picture_grid_donor *), by_label);
	for (size_t i = 0; i < grid->n_donors; i++) {
		const bool next =
			i + 1 < grid->n_donors && by_label(&sorted[i], &sorted[i + 1]) == 0;
		char *path;

		if (shared || next || !sorted[i]->label[0]) {
			path = strdup(sorted[i]->key);
			if (!path)
				return false;
			free(sorted[i]->label);
			sorted[i]->label = path;
		}
		shared = next;
	}
	return true;
}

static void number_donors(struct picture_grid *grid, struct picture_grid_donor **sorted)
{
	for (size_t i = 0; i < grid->n_donors; i++)
		sorted[i] = &grid->donors[i];
	qsort(sorted, grid->n_donors, sizeof(struct picture_grid_donor *), by_key_of);
	for (size_t i = 0; i < grid->n * 2; i++) {
		struct picture_grid_side *side = &grid->cells[i / 2].sides[i % 2];
		struct picture_grid_donor key, *of = &key, **found;

		if (!side->figure || !side->figure->donor)
			continue;
		key.key = side->figure->donor;
		found = bsearch(&of, sorted, grid->n_donors, sizeof(struct picture_grid_donor *),
				by_key_of);
		side->donor = (size_t)(*found - grid->donors);
	}
}

static bool find_donors(struct picture_grid *grid)
{
	size_t n = 0;
	struct picture_grid_donor **sorted;
	bool well;

	for (size_t i = 0; i < grid->n * 2; i++) {
		const struct figure *figure = grid->cells[i / 2].sides[i % 2].figure;

		if (figure && figure->donor)
			grid->donors[n++] =
				(struct picture_grid_donor){ .key = figure->donor, .cells = 1 };
		else
			grid->unknown += figure && figure_is(figure, FIGURE_GRAFTED);
	}
	qsort(grid->donors, n, sizeof(*grid->donors), by_key);
	for (size_t i = 0; i < n; i++) {
		struct picture_grid_donor *last = grid->donors + grid->n_donors;

		if (grid->n_donors && by_key(last - 1, &grid->donors[i]) == 0)
			last[-1].cells++;
		else
			grid->donors[grid->n_donors++] = grid->donors[i];
	}
	qsort(grid->donors, grid->n_donors, sizeof(*grid->donors), by_cells);
	sorted = calloc(grid->n_donors + 1, sizeof(struct picture_grid_donor *));
	well = sorted && name_donors(grid, sorted);
	if (well)
		number_donors(grid, sorted);
	free(sorted);
	return well;
}

static void count_changes(struct picture_grid *grid, const struct grid_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned change = 0; change < FIGURE_CHANGES; change++)
			grid->changes[change] += figure_is(entries[i].figure, change);
}

int picture_grid_make(struct picture_grid *grid, const struct figures *firsts,
		      const struct figures *seconds)
{
	size_t n = firsts->n + firsts->n_removed;
	struct grid_entry *entries;
	int rc = -ENOMEM;

	n += seconds ? seconds->n + seconds->n_removed : 0;
	*grid = (struct picture_grid){ .n_sides = seconds ? 2 : 1 };
	/* One more element, since calloc() of none may return NULL. */
	grid->cells = calloc(n + 1, sizeof(*grid->cells));
	grid->rows = calloc(n + 1, sizeof(*grid->rows));
	grid->blocks = calloc(n + 1, sizeof(*grid->blocks));
	grid->there = calloc(n + 1, sizeof(*grid->there));
	grid->donors = calloc(n + 1, sizeof(*grid->donors));
	entries = calloc(n + 1, sizeof(*entries));
	if (grid->cells && grid->rows && grid->blocks && grid->there && grid->donors && entries) {
		n = collect(entries, 0, firsts, 0);
		if (seconds)
			n = collect(entries, n, seconds, 1);
		qsort(entries, n, sizeof(*entries), by_role);
		count_copies(entries, n);
		qsort(entries, n, sizeof(*entries), by_row);
		fill_cells(grid, entries, n);
		count_changes(grid, entries, n);
		find_columns(grid);
		rc = find_donors(grid) ? picture_grid_compare(grid) : -ENOMEM;
	}
	free(entries);
	return rc;
}

void picture_grid_free(struct picture_grid *grid)
{
	for (size_t i = 0; grid->donors && i < grid->n_donors; i++)
		free(grid->donors[i].label);
	free(grid->cells);
	free(grid->rows);
	free(grid->blocks);
	free(grid->there);
	free(grid->donors);
}

size_t picture_grid_band(const struct picture_grid *grid, size_t most, size_t bands_most)
{
	size_t bands = (grid->n_blocks + most - 1) / most;

	bands = bands > bands_most ? bands_most : bands;
	return bands ? (grid->n_blocks + bands - 1) / bands : 0;
}

size_t picture_grid_step(size_t width, size_t room)
{
	static const size_t factors[] = { 1, 2, 5 };
	size_t step = 1;

	for (size_t ten = 1; step * width < room; ten *= 10)
		for (size_t i = 0; i < 3 && step * width < room; i++)
			step = ten * factors[i];
	return step;
}

size_t picture_grid_blocks_text(const struct picture_grid *grid, char *text, size_t n)
{
	const int32_t *blocks = grid->there;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0, last = 0; i < grid->n_there; i = last + 1) {
		char range[32];

		for (last = i; last + 1 < grid->n_there && blocks[last + 1] - 1 == blocks[last];)
			last++;
		if (last > i)
			snprintf(range, sizeof(range), "%" PRId32 "-%" PRId32, blocks[i],
				 blocks[last]);
		else
			snprintf(range, sizeof(range), "%" PRId32, blocks[i]);
		if (used + strlen(range) + 8 > n) {
			snprintf(text + used, n - used, ", ...");
			break;
		}
		used += (size_t)snprintf(text + used, n - used, "%s%s", used ? ", " : "", range);
	}
	return grid->n_there;
}
