/* SPDX-License-Identifier: MIT */
/* picture_layout.c - where everything stands: rows by class and role, columns by block, and beside
 * them what belongs to no block. Sorted, never searched, so that many tensors cost little. */
#include "fs/picture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRID_WIDTH = 1100, /* what the blocks share */
	CELL_WIDTH_MAX = 72,
	CELL_WIDTH_MIN = 2,
	LABEL_WIDTH_MIN = 80, /* room for half of the longest block number, and "block" */
	LABEL_WIDTH_MAX = 180,
	SIDE_GAP = 44,	    /* room for half of the longest block number */
	SIDE_ROWS = 24,	    /* one column holds this many in any case */
	WIDTH_MAX = 1580,   /* of a picture with more columns than one beside the blocks */
	HEADING = 22,	    /* height of a class name */
	NUMBERS = 18,	    /* height of the block numbers */
	NUMBERS_TWICE = 24, /* rows from which they stand below as well */
	WIDTH_MIN = 860,    /* of the header */
};

/* The classes as the picture orders them. */
static unsigned rank_of(enum organ_class klass)
{
	static const unsigned char ranks[CLASSES] = {
		[CLASS_SKELETON] = 0, [CLASS_ORGANS] = 1,   [CLASS_NORM] = 2,
		[CLASS_EMBED] = 3,    [CLASS_ADAPTERS] = 4, [CLASS_OTHER] = 5,
	};

	return ranks[klass];
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Tensors of one role together, within it those of one block; file order is the order of the
 * pointers. */
static int by_role(const void *left, const void *right)
{
	const struct figure *a = ((const struct cell *)left)->figure;
	const struct figure *b = ((const struct cell *)right)->figure;
	int order = COMPARE(rank_of(a->klass), rank_of(b->klass));

	if (!order)
		order = strcmp(a->role, b->role);
	if (!order)
		order = COMPARE(a->block, b->block);
	return order ? order : COMPARE(a, b);
}

static int by_row(const void *left, const void *right)
{
	const struct cell *a = left, *b = right;
	int order = COMPARE(rank_of(a->figure->klass), rank_of(b->figure->klass));

	if (!order)
		order = COMPARE(a->first, b->first);
	if (!order)
		order = COMPARE(a->copy, b->copy);
	return order ? order : COMPARE(a->figure->block, b->figure->block);
}

static int by_number(const void *left, const void *right)
{
	const int32_t *a = left, *b = right;

	return COMPARE(*a, *b);
}

static bool same_role(const struct figure *a, const struct figure *b)
{
	return a->klass == b->klass && !strcmp(a->role, b->role);
}

/* Of cells sorted by role: what was first in the file, and which share a block. */
static void find_copies(struct cell *cells, size_t n)
{
	size_t start = 0;

	for (size_t i = 0; i < n; i++) {
		const struct figure *figure = cells[i].figure, *before;

		cells[i].copy = 0;
		if (i > start) {
			before = cells[i - 1].figure;
			if (!same_role(figure, before))
				start = i;
			else if (figure->block == before->block)
				cells[i].copy = cells[i - 1].copy + 1;
		}
		if (i == start || figure < cells[start].first)
			cells[start].first = figure;
	}
	for (size_t i = 0; i < n; i++) {
		if (i && same_role(cells[i].figure, cells[i - 1].figure))
			cells[i].first = cells[i - 1].first;
	}
}

static void find_blocks(struct layout *layout)
{
	size_t kept = 0;

	for (size_t i = 0; i < layout->in_blocks; i++)
		layout->blocks[i] = layout->cells[i].figure->block;
	qsort(layout->blocks, layout->in_blocks, sizeof(*layout->blocks), by_number);
	for (size_t i = 0; i < layout->in_blocks; i++)
		if (!kept || layout->blocks[kept - 1] != layout->blocks[i])
			layout->blocks[kept++] = layout->blocks[i];
	layout->n_blocks = kept;
}

/* The rows of cells that are sorted by row. */
static void find_rows(struct layout *layout)
{
	const struct cell *before = NULL;

	for (size_t i = 0; i < layout->in_blocks; i++) {
		const struct cell *cell = &layout->cells[i];

		if (!before || before->first != cell->first || before->copy != cell->copy)
			layout->rows[layout->n_rows++] = (struct row){
				.figure = cell->figure,
				.heading = !before || before->figure->klass != cell->figure->klass,
			};
		before = cell;
	}
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* The grid of blocks. Returns the line below it. */
static uint64_t place_grid(struct layout *layout)
{
	uint64_t y = layout->grid_y, labels = LABEL_WIDTH_MIN;
	size_t row = 0;

	layout->cell_width = clamp(layout->n_blocks ? GRID_WIDTH / layout->n_blocks : 0,
				   CELL_WIDTH_MIN, CELL_WIDTH_MAX);
	layout->cell_height = layout->n_rows <= 24 ? 22 : layout->n_rows <= 48 ? 18 : 15;
	for (size_t i = 0; i < layout->n_rows; i++) {
		const uint64_t width = text_width(layout->rows[i].figure->role, PICTURE_LABEL);

		y += layout->rows[i].heading ? HEADING : 0;
		layout->rows[i].y = y;
		y += layout->cell_height;
		labels = width > labels ? width : labels;
	}
	layout->label_width = clamp(labels, LABEL_WIDTH_MIN, LABEL_WIDTH_MAX);
	layout->grid_x = PICTURE_MARGIN + layout->label_width + PICTURE_GAP;
	for (size_t i = 0; i < layout->in_blocks; i++) {
		struct cell *cell = &layout->cells[i];
		const int32_t *column = bsearch(&cell->figure->block, layout->blocks,
						layout->n_blocks, sizeof(*column), by_number);

		if (i && (cell->first != cell[-1].first || cell->copy != cell[-1].copy))
			row++;
		cell->x = layout->grid_x + (uint64_t)(column - layout->blocks) * layout->cell_width;
		cell->y = layout->rows[row].y;
	}
	return y;
}

/* What belongs to no block, in as many columns as there is room for. Returns the line below it and
 * sets where it ends on the right. */
static uint64_t place_side(struct layout *layout, uint64_t *right)
{
	const uint64_t top = layout->grid_y + HEADING;
	const size_t n = layout->n - layout->in_blocks;
	uint64_t labels = LABEL_WIDTH_MIN, step, fit, deep;

	layout->side_x = layout->grid_x + layout->n_blocks * layout->cell_width + SIDE_GAP;
	if (!layout->n_blocks)
		layout->side_x = PICTURE_MARGIN;
	for (size_t i = layout->in_blocks; i < layout->n; i++) {
		const uint64_t width = text_width(layout->cells[i].figure->role, PICTURE_LABEL);

		labels = width > labels ? width : labels;
	}
	layout->side_width = clamp(labels, LABEL_WIDTH_MIN, LABEL_WIDTH_MAX);
	step = PICTURE_SIDE_CELL + PICTURE_GAP + layout->side_width + 2 * PICTURE_GAP;
	fit = layout->side_x + step < WIDTH_MAX ? (WIDTH_MAX - layout->side_x) / step : 1;
	deep = layout->n_rows > SIDE_ROWS ? layout->n_rows : SIDE_ROWS;
	if ((n + deep - 1) / deep > fit)
		deep = (n + fit - 1) / fit;
	for (size_t i = 0; i < n; i++) {
		layout->cells[layout->in_blocks + i].x = layout->side_x + i / deep * step;
		layout->cells[layout->in_blocks + i].y = top + i % deep * layout->cell_height;
	}
	*right = layout->side_x + (n ? (n - 1) / deep + 1 : 0) * step;
	return top + (n < deep ? n : deep) * layout->cell_height;
}

static void place(struct layout *layout)
{
	uint64_t right, grid = place_grid(layout), side = place_side(layout, &right);

	layout->width = clamp(right + PICTURE_MARGIN, WIDTH_MIN, UINT64_MAX);
	if (layout->n_rows > NUMBERS_TWICE) {
		layout->numbers_y = grid + 12;
		grid += NUMBERS;
	}
	layout->height = (grid > side ? grid : side) + PICTURE_MARGIN;
}

size_t layout_step(const struct layout *layout)
{
	static const size_t factors[] = { 2, 5, 10 };
	const int32_t last = layout->n_blocks ? layout->blocks[layout->n_blocks - 1] : 0;
	char text[16];
	uint64_t room;
	size_t step = 1;

	snprintf(text, sizeof(text), "%d", last);
	room = text_width(text, PICTURE_NUMBER) + 6;
	for (size_t ten = 1; step * layout->cell_width < room; ten *= 10)
		for (size_t i = 0; i < 3 && step * layout->cell_width < room; i++)
			step = ten * factors[i];
	return step;
}

int layout_make(struct layout *layout, const struct picture *picture, uint64_t top)
{
	size_t side = picture->n;

	*layout = (struct layout){ .n = picture->n, .grid_y = top + NUMBERS };
	/* One more, because none may be NULL as well. */
	layout->cells = calloc(picture->n + 1, sizeof(*layout->cells));
	layout->rows = calloc(picture->n + 1, sizeof(*layout->rows));
	layout->blocks = calloc(picture->n + 1, sizeof(*layout->blocks));
	if (!layout->cells || !layout->rows || !layout->blocks)
		return -ENOMEM;
	for (size_t i = picture->n; i-- > 0;)
		if (picture->figures[i].block < 0)
			layout->cells[--side].figure = &picture->figures[i];
	for (size_t i = 0; i < picture->n; i++)
		if (picture->figures[i].block >= 0)
			layout->cells[layout->in_blocks++].figure = &picture->figures[i];
	qsort(layout->cells, layout->in_blocks, sizeof(*layout->cells), by_role);
	find_copies(layout->cells, layout->in_blocks);
	qsort(layout->cells, layout->in_blocks, sizeof(*layout->cells), by_row);
	find_blocks(layout);
	find_rows(layout);
	place(layout);
	return 0;
}

void layout_free(struct layout *layout)
{
	free(layout->cells);
	free(layout->rows);
	free(layout->blocks);
}
