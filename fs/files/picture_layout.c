/* SPDX-License-Identifier: MIT */
/* picture_layout.c - the positions of all parts. Blocks are columns; if they are too many for their
 * numbers, bands of columns stand below each other. */
#include "fs/files/picture.h"
#include "fs/files/picture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRID_WIDTH = 1100, /* shared by the columns of a band */
	BANDS_MOST = 4,
	CELL_WIDTH_MAX = 72,
	CELL_WIDTH_MIN = 2,
	ACROSS_CELL = 48,
	ACROSS_WIDTH = 470, /* shared by them if three panels are side by side */
	ACROSS_MOST = ACROSS_WIDTH / (PICTURE_WHOLE + 1),
	LABEL_WIDTH_MIN = 80,
	LABEL_WIDTH_MAX = 180,
	PANEL_GAP = 26,
	TITLE = 18,	  /* height of a panel's name */
	NUMBERS = 18,	  /* height of the block numbers */
	SECTION = 7,	  /* between attention and feed-forward */
	SIDE_GAP = 40,	  /* before the cells outside the blocks */
	SIDE_ROWS = 24,	  /* at least this many rows in a column beside the blocks, */
	SIDE_ALONE = 12,  /* or without blocks this many */
	WIDTH_MAX = 1580, /* of a picture with several columns beside the blocks */
	HEADING = 22,
};

static size_t clamp(size_t value, size_t low, size_t high)
{
	return value < low ? low : value > high ? high : value;
}

static void place_columns(struct picture_layout *layout)
{
	const struct picture_grid *grid = &layout->grid;
	const size_t most = GRID_WIDTH / (PICTURE_WHOLE + 1);

	layout->across = layout->panels > 1 && grid->n_blocks <= ACROSS_MOST;
	layout->per_band = picture_grid_band(grid, most, BANDS_MOST);
	layout->bands =
		layout->per_band ? (grid->n_blocks + layout->per_band - 1) / layout->per_band : 0;
	if (layout->per_band)
		layout->cell_width =
			clamp((layout->across ? ACROSS_WIDTH : GRID_WIDTH) / layout->per_band,
			      CELL_WIDTH_MIN, layout->across ? ACROSS_CELL : CELL_WIDTH_MAX);
	layout->panel_width = grid->n_blocks ? PICTURE_MEDIAN + PICTURE_GAP +
						       layout->per_band * layout->cell_width
					     : 0;
}

/* Place the rows of a panel. */
static void place_rows(struct picture_layout *layout)
{
	const struct picture_grid *grid = &layout->grid;
	size_t y = 0, labels = LABEL_WIDTH_MIN;

	layout->cell_height = grid->n_rows <= 24 ? 22 : grid->n_rows <= 48 ? 18 : 15;
	for (size_t i = 0; i < grid->n_rows; i++) {
		const size_t width = picture_text_width(grid->rows[i].role, PICTURE_LABEL);

		y += grid->rows[i].section ? SECTION : 0;
		layout->rows[i] = y;
		y += layout->cell_height;
		labels = width > labels ? width : labels;
	}
	layout->label_width = clamp(labels, LABEL_WIDTH_MIN, LABEL_WIDTH_MAX);
	layout->grid_x = PICTURE_MARGIN + layout->label_width + PICTURE_GAP;
	layout->panel_height = y + NUMBERS + (layout->panels > 1 ? TITLE : 0);
}

/* The bottom right corner of all panels. */
static struct picture_box panels_end(const struct picture_layout *layout)
{
	const size_t columns = layout->across ? layout->panels : 1;
	const size_t lines = layout->bands * (layout->across ? 1 : layout->panels);

	if (!layout->bands)
		return (struct picture_box){ .x = PICTURE_MARGIN, .y = layout->grid_y };
	return (struct picture_box){
		.x = layout->grid_x + columns * (layout->panel_width + PANEL_GAP) - PANEL_GAP,
		.y = layout->grid_y + lines * (layout->panel_height + PANEL_GAP) - PANEL_GAP,
	};
}

/* Place the tensors outside the blocks, in as many columns as fit. Returns the bottom right
 * corner. */
static struct picture_box place_side(struct picture_layout *layout)
{
	const struct picture_grid *grid = &layout->grid;
	const size_t n = grid->n - grid->in_blocks;
	const size_t cells = PICTURE_SWATCH + layout->panels * PICTURE_SIDE_CELL;
	size_t labels = LABEL_WIDTH_MIN, fit;

	layout->side_x = panels_end(layout).x + (grid->n_blocks ? SIDE_GAP : 0);
	layout->side_y = layout->grid_y + HEADING;
	for (size_t i = grid->in_blocks; i < grid->n; i++) {
		const size_t width =
			picture_text_width(picture_grid_side_of(&grid->cells[i])->figure->role,
					   PICTURE_LABEL);

		labels = width > labels ? width : labels;
	}
	layout->side_width = clamp(labels, LABEL_WIDTH_MIN, LABEL_WIDTH_MAX);
	layout->side_step = cells + PICTURE_GAP + layout->side_width + 2 * PICTURE_GAP;
	fit = layout->side_x + layout->side_step < WIDTH_MAX
		      ? (WIDTH_MAX - layout->side_x) / layout->side_step
		      : 1;
	layout->side_deep = grid->n_blocks ? SIDE_ROWS : SIDE_ALONE;
	if (layout->side_deep < grid->n_rows)
		layout->side_deep = grid->n_rows;
	if ((n + layout->side_deep - 1) / layout->side_deep > fit)
		layout->side_deep = (n + fit - 1) / fit;
	return (struct picture_box){
		.x = layout->side_x + (n ? (n - 1) / layout->side_deep + 1 : 0) * layout->side_step,
		.y = layout->side_y +
		     (n < layout->side_deep ? n : layout->side_deep) * layout->cell_height,
	};
}

struct picture_box picture_layout_row(const struct picture_layout *layout, size_t panel,
				      size_t band, size_t row)
{
	const size_t column = layout->across ? panel : 0;
	const size_t line = layout->across ? band : band * layout->panels + panel;

	/* Leave a line of ground between cells, unless they are too small. */
	return (struct picture_box){
		layout->grid_x + column * (layout->panel_width + PANEL_GAP) + PICTURE_MEDIAN +
			PICTURE_GAP,
		layout->grid_y + line * (layout->panel_height + PANEL_GAP) + NUMBERS +
			(layout->panels > 1 ? TITLE : 0) + layout->rows[row],
		layout->cell_width - (layout->cell_width > 3),
		layout->cell_height - 1,
	};
}

struct picture_box picture_layout_cell(const struct picture_layout *layout, size_t panel, size_t i)
{
	const struct picture_grid_cell *cell = &layout->grid.cells[i];
	struct picture_box box;

	if (i < layout->grid.in_blocks) {
		box = picture_layout_row(layout, panel, cell->column / layout->per_band, cell->row);
		box.x += cell->column % layout->per_band * layout->cell_width;
		return box;
	}
	i -= layout->grid.in_blocks;
	return (struct picture_box){
		layout->side_x + i / layout->side_deep * layout->side_step + PICTURE_SWATCH +
			panel * PICTURE_SIDE_CELL,
		layout->side_y + i % layout->side_deep * layout->cell_height,
		PICTURE_SIDE_CELL - 1,
		layout->cell_height - 1,
	};
}

size_t picture_layout_step(const struct picture_layout *layout)
{
	const struct picture_grid *grid = &layout->grid;
	const int32_t last = grid->n_blocks ? grid->blocks[grid->n_blocks - 1] : 0;
	char text[16];

	snprintf(text, sizeof(text), "%d", last);
	return picture_grid_step(layout->cell_width, picture_text_width(text, PICTURE_NUMBER) + 2);
}

int picture_layout_make(struct picture_layout *layout, const struct picture *picture, size_t top)
{
	struct picture_box end, side;
	int rc;

	*layout = (struct picture_layout){ .panels = picture->n > 1 ? PANELS : 1 };
	rc = picture_grid_make(&layout->grid, picture->models[0].figures,
			       picture->n > 1 ? picture->models[1].figures : NULL);
	layout->rows = calloc(layout->grid.n_rows + 1, sizeof(*layout->rows));
	if (rc < 0 || !layout->rows)
		return -ENOMEM;
	layout->grid_y = top + picture_legend_height(&layout->grid);
	place_columns(layout);
	place_rows(layout);
	end = panels_end(layout);
	side = place_side(layout);
	layout->width = clamp((side.x > end.x ? side.x : end.x) + PICTURE_MARGIN, PICTURE_WIDTH_MIN,
			      SIZE_MAX);
	layout->height = (end.y > side.y ? end.y : side.y) + PICTURE_MARGIN;
	return 0;
}

void picture_layout_free(struct picture_layout *layout)
{
	picture_grid_free(&layout->grid);
	free(layout->rows);
}
