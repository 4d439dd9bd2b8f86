/* SPDX-License-Identifier: MIT */
/* picture_plan.c - see picture_internal.h. Everything is found by sorting: models may have tens of
 * thousands of tensors. */
#include "fs/picture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int picture_rank(enum organ_class klass)
{
	static const int ranks[CLASSES] = {
		[CLASS_SKELETON] = 0, [CLASS_ORGANS] = 1,   [CLASS_NORM] = 2,
		[CLASS_EMBED] = 3,    [CLASS_ADAPTERS] = 4, [CLASS_OTHER] = 5
	};

	return ranks[klass];
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_roles(const struct figure *a, const struct figure *b)
{
	const int order = picture_rank(a->klass) - picture_rank(b->klass);

	return order ? order : strcmp(a->role, b->role);
}

static int by_role_and_block(const void *a, const void *b)
{
	const struct picture_cell *x = a, *y = b;
	int order = compare_roles(x->figure, y->figure);

	if (order == 0)
		order = (x->figure->block > y->figure->block) -
			(x->figure->block < y->figure->block);
	return order ? order : compare_sizes(x->index, y->index);
}

static int by_class(const void *a, const void *b)
{
	const struct picture_cell *x = a, *y = b;
	const int order = picture_rank(x->figure->klass) - picture_rank(y->figure->klass);

	return order ? order : compare_sizes(x->index, y->index);
}

static int by_class_and_appearance(const void *a, const void *b)
{
	const struct picture_row *x = a, *y = b;
	int order = picture_rank(x->figure->klass) - picture_rank(y->figure->klass);

	if (order == 0)
		order = compare_sizes(x->first, y->first);
	return order ? order : compare_sizes(x->copy, y->copy);
}

static int compare_blocks(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void collect(const struct picture *picture, struct picture_plan *plan)
{
	for (size_t i = 0; i < picture->n; i++) {
		const struct figure *figure = &picture->figures[i];
		const struct picture_cell cell = { .figure = figure, .index = i };

		if (figure->block < 0) {
			plan->outside[plan->n_outside++] = cell;
		} else {
			plan->blocks[plan->n_cells] = figure->block;
			plan->cells[plan->n_cells++] = cell;
		}
	}
}

static void find_columns(struct picture_plan *plan)
{
	qsort(plan->blocks, plan->n_cells, sizeof(*plan->blocks), compare_blocks);
	for (size_t i = 0; i < plan->n_cells; i++)
		if (plan->n_blocks == 0 || plan->blocks[i] != plan->blocks[plan->n_blocks - 1])
			plan->blocks[plan->n_blocks++] = plan->blocks[i];
	for (size_t i = 0; i < plan->n_cells; i++) {
		const int32_t *column =
			bsearch(&plan->cells[i].figure->block, plan->blocks, plan->n_blocks,
				sizeof(*plan->blocks), compare_blocks);

		plan->cells[i].column = (size_t)(column - plan->blocks);
	}
}

/* Cells are sorted by role and block: those from start to end have one role. Several in one block
 * take a row each. */
static void add_rows(struct picture_plan *plan, size_t start, size_t end)
{
	size_t first = start, copies = 0;

	for (size_t i = start; i < end; i++) {
		struct picture_cell *cell = &plan->cells[i];

		cell->copy = i > start && cell[-1].column == cell->column ? cell[-1].copy + 1 : 0;
		if (cell->index < plan->cells[first].index)
			first = i;
		if (cell->copy >= copies)
			copies = cell->copy + 1;
	}
	for (size_t copy = 0; copy < copies; copy++)
		plan->rows[plan->n_rows++] =
			(struct picture_row){ plan->cells[first].figure, plan->cells[first].index,
					      copy, 0 };
}

static bool same_role(const struct picture_cell *a, const struct picture_cell *b)
{
	return compare_roles(a->figure, b->figure) == 0;
}

/* The row of that role and copy: rows are sorted by class and appearance, so by the first index. */
static size_t find_row(const struct picture_plan *plan, const struct figure *figure, size_t first,
		       size_t copy)
{
	const struct picture_row wanted = { figure, first, copy, 0 };
	const struct picture_row *row =
		bsearch(&wanted, plan->rows, plan->n_rows, sizeof(wanted), by_class_and_appearance);

	return (size_t)(row - plan->rows);
}

static void find_rows(struct picture_plan *plan)
{
	size_t end;

	qsort(plan->cells, plan->n_cells, sizeof(*plan->cells), by_role_and_block);
	for (size_t start = 0; start < plan->n_cells; start = end) {
		for (end = start + 1; end < plan->n_cells; end++)
			if (!same_role(&plan->cells[start], &plan->cells[end]))
				break;
		add_rows(plan, start, end);
	}
	qsort(plan->rows, plan->n_rows, sizeof(*plan->rows), by_class_and_appearance);
	for (size_t start = 0; start < plan->n_cells; start = end) {
		size_t first = plan->cells[start].index;

		for (end = start; end < plan->n_cells; end++) {
			if (!same_role(&plan->cells[start], &plan->cells[end]))
				break;
			if (plan->cells[end].index < first)
				first = plan->cells[end].index;
		}
		for (size_t i = start; i < end; i++)
			plan->cells[i].row =
				find_row(plan, plan->cells[i].figure, first, plan->cells[i].copy);
	}
}

static double label_width(const char *label)
{
	const size_t n = strlen(label);

	return PICTURE_LETTER * (double)(n < PICTURE_LABEL_MOST ? n : PICTURE_LABEL_MOST);
}

/* As wide as fits about a thousand pixels, within what the eye can tell apart. */
static double cell_width(size_t blocks)
{
	const double fitting = blocks ? 960.0 / (double)blocks : 26;

	return fitting > 26 ? 26 : fitting < 9 ? 9 : (double)(int)fitting;
}

static void place_rows(struct picture_plan *plan)
{
	double y = plan->top, widest = 60;

	for (size_t i = 0; i < plan->n_rows; i++) {
		const struct figure *figure = plan->rows[i].figure;
		const double width = label_width(figure->role);

		if (i == 0 || plan->rows[i - 1].figure->klass != figure->klass)
			y += PICTURE_HEADING;
		plan->rows[i].y = y;
		y += PICTURE_LINE;
		widest = width > widest ? width : widest;
	}
	plan->left = PICTURE_MARGIN + widest + 10;
	plan->bottom = y;
}

/* Above each class stands its name, which takes a line. */
static void place_outside(struct picture_plan *plan)
{
	const size_t lines = (size_t)((plan->bottom - plan->top - PICTURE_HEADING) / PICTURE_LINE);
	double widest = 60;

	plan->outside_lines = lines > 20 ? lines : 20;
	for (size_t i = 0; i < plan->n_outside; i++) {
		const double width = label_width(plan->outside[i].figure->role);

		widest = width > widest ? width : widest;
	}
	plan->outside_width = 32 + widest + 16;
}

static size_t divide_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

static void measure(struct picture_plan *plan)
{
	const size_t columns = divide_up(plan->n_outside, plan->outside_lines);
	const size_t lines =
		plan->n_outside < plan->outside_lines ? plan->n_outside : plan->outside_lines;
	const double outside_bottom = plan->top + PICTURE_HEADING + PICTURE_LINE * (double)lines;

	plan->right = plan->left + plan->cell * (double)plan->n_blocks;
	plan->width = plan->right + 30 + plan->outside_width * (double)columns + PICTURE_MARGIN;
	if (plan->width < PICTURE_WIDTH_LEAST)
		plan->width = PICTURE_WIDTH_LEAST;
	if (plan->n_outside && outside_bottom > plan->bottom)
		plan->bottom = outside_bottom;
	plan->height = plan->bottom + 84;
}

int picture_arrange(const struct picture *picture, struct picture_plan *plan)
{
	*plan = (struct picture_plan){ .top = 92 };
	plan->cells = calloc(picture->n + 1, sizeof(*plan->cells));
	plan->outside = calloc(picture->n + 1, sizeof(*plan->outside));
	plan->rows = calloc(picture->n + 1, sizeof(*plan->rows));
	plan->blocks = calloc(picture->n + 1, sizeof(*plan->blocks));
	if (!plan->cells || !plan->outside || !plan->rows || !plan->blocks)
		return -ENOMEM;
	collect(picture, plan);
	find_columns(plan);
	find_rows(plan);
	qsort(plan->outside, plan->n_outside, sizeof(*plan->outside), by_class);
	plan->cell = cell_width(plan->n_blocks);
	place_rows(plan);
	place_outside(plan);
	measure(plan);
	return 0;
}

void picture_release(struct picture_plan *plan)
{
	free(plan->cells);
	free(plan->outside);
	free(plan->rows);
	free(plan->blocks);
}
