/* SPDX-License-Identifier: MIT */
/* picture_grid_spread.c - deviation of an angle from those of its row, by median and median
 * absolute deviation (Hampel 1974) instead of mean and standard deviation: no outlier hides
 * itself. */
#include "fs/files/picture_grid.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double middle(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void picture_grid_spread(double *values, size_t n, double *median, double *spread)
{
	*median = *spread = NAN;
	if (n < GRID_FEW)
		return;
	*median = middle(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - *median);
	/* 1.4826 makes it the standard deviation if the values are normally distributed. */
	*spread = fmax(1.4826 * middle(values, n), GRID_SPREAD_MIN);
}

/* Deviation in half spreads, rounded, at most GRID_STEPS. */
static int step_of(double difference, double full)
{
	const double steps = difference / full * GRID_STEPS;

	if (isnan(steps))
		return GRID_NONE;
	return (int)lround(fmax(fmin(steps, GRID_STEPS), -GRID_STEPS));
}

/* Compare n cells of a side with each other; values has room for n. */
static void compare_cells(struct picture_grid_cell *const *cells, size_t n, size_t side,
			  double *values)
{
	double median, spread;
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(cells[i]->sides[side].theta))
			values[known++] = cells[i]->sides[side].theta;
	picture_grid_spread(values, known, &median, &spread);
	for (size_t i = 0; i < n; i++) {
		struct picture_grid_side *one = &cells[i]->sides[side];

		one->median = median;
		one->spread = spread;
		one->step = step_of(one->theta - median, spread * GRID_STEPS / 2);
	}
}

/* Order by family: names that differ only in numbers are one. Tensors of too small a family are
 * compared by class and kind. */
static int compare_families(const struct figure *a, const struct figure *b)
{
	const char *s = a->role, *t = b->role;

	if (a->klass != b->klass)
		return a->klass < b->klass ? -1 : 1;
	while (*s || *t) {
		if (isdigit((unsigned char)*s) && isdigit((unsigned char)*t)) {
			s += strspn(s, "0123456789");
			t += strspn(t, "0123456789");
		} else if (*s != *t) {
			return (unsigned char)*s < (unsigned char)*t ? -1 : 1;
		} else {
			s++;
			t++;
		}
	}
	return 0;
}

static const struct figure *figure_of(const void *cell)
{
	return picture_grid_side_of(*(struct picture_grid_cell *const *)cell)->figure;
}

static int by_family(const void *left, const void *right)
{
	return compare_families(figure_of(left), figure_of(right));
}

static int by_kind(const void *left, const void *right)
{
	const struct figure *a = figure_of(left), *b = figure_of(right);

	if (a->klass != b->klass)
		return a->klass < b->klass ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Compare the cells outside the blocks in groups made by compare; skip groups smaller than few. */
static void compare_groups(struct picture_grid_cell **cells, size_t n, size_t sides, double *values,
			   int (*compare)(const void *, const void *), size_t few)
{
	size_t start = 0;

	qsort(cells, n, sizeof(struct picture_grid_cell *), compare);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && compare(&cells[start], &cells[i]) == 0)
			continue;
		for (size_t side = 0; i - start >= few && side < sides; side++)
			compare_cells(cells + start, i - start, side, values);
		start = i;
	}
}

static void compare_rows(struct picture_grid *grid, struct picture_grid_cell **cells,
			 double *values)
{
	size_t start = 0;

	for (size_t i = 1; i <= grid->in_blocks; i++) {
		struct picture_grid_row *row = &grid->rows[cells[start]->row];

		if (i < grid->in_blocks && cells[i]->row == cells[start]->row)
			continue;
		for (size_t side = 0; side < grid->n_sides; side++) {
			compare_cells(cells + start, i - start, side, values);
			row->medians[side] = cells[start]->sides[side].median;
		}
		start = i;
	}
}

/* Compute deltas and their scale, one that holds nine tenths of them. */
static void compare_sides(struct picture_grid *grid, double *values)
{
	static const double fulls[] = { 3, 6, 12, 24, 36, 60, 90 };
	size_t known = 0, i = 0;

	for (size_t k = 0; k < grid->n; k++) {
		struct picture_grid_cell *cell = &grid->cells[k];

		cell->delta = cell->sides[1].theta - cell->sides[0].theta;
		if (!isnan(cell->delta))
			values[known++] = fabs(cell->delta);
	}
	qsort(values, known, sizeof(*values), by_value);
	while (known && i + 1 < sizeof(fulls) / sizeof(fulls[0]) &&
	       values[(known - 1) * 9 / 10] > fulls[i])
		i++;
	grid->delta_full = fulls[i];
	for (size_t k = 0; k < grid->n; k++)
		grid->cells[k].step = step_of(grid->cells[k].delta, grid->delta_full);
}

int picture_grid_compare(struct picture_grid *grid)
{
	const size_t outside = grid->n - grid->in_blocks;
	struct picture_grid_cell **cells = calloc(grid->n + 1, sizeof(struct picture_grid_cell *));
	double *values = calloc(grid->n + 1, sizeof(*values));
	const bool well = cells && values;

	for (size_t i = 0; well && i < grid->n; i++)
		cells[i] = &grid->cells[i];
	if (well) {
		compare_rows(grid, cells, values);
		compare_groups(cells + grid->in_blocks, outside, grid->n_sides, values, by_kind,
			       2 * GRID_FEW);
		compare_groups(cells + grid->in_blocks, outside, grid->n_sides, values, by_family,
			       2 * GRID_FEW);
		compare_sides(grid, values);
	}
	free(cells);
	free(values);
	return well ? 0 : -ENOMEM;
}
