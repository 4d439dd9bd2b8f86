/* SPDX-License-Identifier: MIT */
/* picture_internal.h - the parts of a picture: layout (picture_layout.c), text of any bytes
 * (picture_text.c), colours and marks (picture_style.c), legend (picture_legend.c), cells
 * (picture_cell.c). */
#ifndef FS_FILES_PICTURE_INTERNAL_H
#define FS_FILES_PICTURE_INTERNAL_H

#include "fs/files/palette.h"
#include "fs/files/picture_grid.h"

#include <stdbool.h>
#include <stdio.h>

struct picture;

/* Pixels. The text sizes are the smallest that are easy to read. */
enum {
	PICTURE_MARGIN = 20,
	PICTURE_WIDTH_MIN = 860, /* of the header */
	PICTURE_LABEL = 11,	 /* size of the names */
	PICTURE_NUMBER = 10,	 /* size of the block numbers */
	PICTURE_GAP = 8,	 /* between a cell and its name */
	PICTURE_MEDIAN = 40,	 /* width of a row's median */
	PICTURE_SWATCH = 8,	 /* width of the angle's colour beside a cell outside the blocks */
	PICTURE_SIDE_CELL = 44,	 /* width of a cell outside the blocks */
	PICTURE_DECIMALS = 36,	 /* cells of this width show a decimal, */
	PICTURE_WHOLE = 15,	 /* of this width whole degrees, */
	PICTURE_SIGNS = 9,	 /* of this width the marks of tensors */
};

/* Panels for two models: the first, the second, their difference. */
enum { PANEL_DELTA = 2, PANELS = 3 };

struct picture_box {
	size_t x, y, width, height;
};

/* Positions of all parts of a picture. */
struct picture_layout {
	struct picture_grid grid;
	size_t panels; /* 1 or PANELS */
	bool across;   /* panels are side by side, else below each other */
	size_t per_band, bands;
	size_t *rows;			/* y of each row within its panel; owned */
	size_t cell_width, cell_height; /* distance of two cells */
	size_t label_width, side_width; /* of the names left and right */
	size_t grid_x, grid_y;		/* of the first panel, including medians and heading */
	size_t panel_width, panel_height;
	size_t side_x, side_y, side_step, side_deep; /* outside the blocks; rows of a column */
	size_t width, height;			     /* of the picture */
};

/* Place the figures below y = top. Returns 0 or -ENOMEM; picture_layout_free() is due then too. */
int picture_layout_make(struct picture_layout *layout, const struct picture *picture, size_t top);
void picture_layout_free(struct picture_layout *layout);

/* Boxes of the first cell of a row in a panel's band, and of a cell in a panel. */
struct picture_box picture_layout_row(const struct picture_layout *layout, size_t panel,
				      size_t band, size_t row);
struct picture_box picture_layout_cell(const struct picture_layout *layout, size_t panel, size_t i);

/* Interval of columns that get a number, so that no two numbers touch. */
size_t picture_layout_step(const struct picture_layout *layout);

/* Height of the grid's legend. */
size_t picture_legend_height(const struct picture_grid *grid);

/* Print the legend of colours and marks below the line y. */
void picture_legend_print(FILE *out, const struct picture_grid *grid, size_t y);

/* Print the colours by class, for light and dark, and the patterns; the same for all pictures. */
void picture_style_print(FILE *out);

/* Colour class of a cell: '0' to 'c' are the steps, 'n' nothing to compare with, 'v' no angle; and
 * its colour, for programs that do not know classes. */
char picture_style_class(int step, double theta);
struct rgb picture_style_ground(char klass, bool dark);

/* Print the marks of a tensor's changes in a box; they do not depend on z. */
void picture_style_changes(FILE *out, const struct figure *figure, size_t donor,
			   struct picture_box box);

/* Print any bytes as XML text. */
void picture_text_print(FILE *out, const char *text);

/* Print text and the end of its element, cut in the middle if wider than width pixels at this
 * size. */
void picture_text_end(FILE *out, const char *text, size_t size, size_t width);

/* Approximate width in pixels, never too small for the common fonts. */
size_t picture_text_width(const char *text, size_t size);

/* A number in exactly width bytes (below NUMBER_MAX), "-" if it is not finite or does not fit: with
 * that many decimals; with as many digits as fit, six at most; or with a sign. */
#define NUMBER_MAX 16
const char *picture_number_fixed(char out[NUMBER_MAX], int width, int decimals, double value);
const char *picture_number_general(char out[NUMBER_MAX], int width, double value);
const char *picture_number_signed(char out[NUMBER_MAX], int width, int decimals, double value);

/* Print cell i in a panel, in a number of bytes that does not depend on z. */
void picture_cell_print(FILE *out, const struct picture_layout *layout,
			const struct picture *picture, size_t panel, size_t i);

#endif
