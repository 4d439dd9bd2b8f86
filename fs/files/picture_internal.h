/* SPDX-License-Identifier: MIT */
/* picture_internal.h - the parts of a picture: places (picture_layout.c), text of any bytes
 * (picture_text.c), colours and marks (picture_style.c), what explains them (picture_legend.c),
 * what one tensor shows (picture_cell.c). */
#ifndef FS_FILES_PICTURE_INTERNAL_H
#define FS_FILES_PICTURE_INTERNAL_H

#include "fs/files/palette.h"
#include "fs/files/picture_grid.h"

#include <stdbool.h>
#include <stdio.h>

struct picture;

/* Pixels. The text sizes are the smallest that are read without effort. */
enum {
	PICTURE_MARGIN = 20,
	PICTURE_WIDTH_MIN = 860, /* of the header */
	PICTURE_LABEL = 11,	 /* size of the names */
	PICTURE_NUMBER = 10,	 /* size of the block numbers */
	PICTURE_GAP = 8,	 /* between a cell and its name */
	PICTURE_MEDIAN = 40,	 /* width of a row's median */
	PICTURE_SWATCH = 8,	 /* width of the angle itself beside a cell outside the blocks */
	PICTURE_SIDE_CELL = 44,	 /* width of a cell outside the blocks */
	PICTURE_DECIMALS = 36,	 /* cells of this width show a decimal, */
	PICTURE_WHOLE = 15,	 /* of this width whole degrees, */
	PICTURE_SIGNS = 9,	 /* of this width the signs of tensors */
};

/* The panels of two models: the first, the second, their difference. */
enum { PANEL_DELTA = 2, PANELS = 3 };

struct picture_box {
	size_t x, y, width, height;
};

/* Where everything stands. */
struct picture_layout {
	struct picture_grid grid;
	size_t panels; /* 1 or PANELS */
	bool across;   /* panels stand side by side, else below each other */
	size_t per_band, bands;
	size_t *rows;			/* y of each row from its panel's first one on; owned */
	size_t cell_width, cell_height; /* from one cell to the next */
	size_t label_width, side_width; /* of the names left and right */
	size_t grid_x, grid_y;		/* of the first panel, with its medians and its head */
	size_t panel_width, panel_height;
	size_t side_x, side_y, side_step, side_deep; /* outside the blocks, and rows a column */
	size_t width, height;			     /* of the picture */
};

/* Arrange and place the figures below the line top. Returns 0 or -ENOMEM; picture_layout_free() is
 * due either way. */
int picture_layout_make(struct picture_layout *layout, const struct picture *picture, size_t top);
void picture_layout_free(struct picture_layout *layout);

/* The first cell of a row in a panel's band, and a cell in a panel. */
struct picture_box picture_layout_row(const struct picture_layout *layout, size_t panel,
				      size_t band, size_t row);
struct picture_box picture_layout_cell(const struct picture_layout *layout, size_t panel, size_t i);

/* Only each of so many columns has a number, so that no two of them touch. */
size_t picture_layout_step(const struct picture_layout *layout);

/* How high the legend of this grid is. */
size_t picture_legend_height(const struct picture_grid *grid);

/* What colours and marks mean, below the line y. */
void picture_legend_print(FILE *out, const struct picture_grid *grid, size_t y);

/* Colours by class, for light and dark, and patterns. The same bytes for all pictures. */
void picture_style_print(FILE *out);

/* The class of a cell's colour: '0' to 'c' for the steps, 'n' nothing to compare with, 'v' no
 * angle. And its colours on a light ground, for programs that know no classes. */
char picture_style_class(int step, double theta);
struct rgb picture_style_ground(char klass, bool dark);

/* A mark in a box: what was made of a tensor. Nothing of it depends on z. */
void picture_style_changes(FILE *out, const struct figure *figure, size_t donor,
			   struct picture_box box);

/* Print any bytes as XML text, all of them. */
void picture_text_print(FILE *out, const char *text);

/* The same to the end of a text element, cut in the middle where it would be wider than so many
 * pixels in letters of this size. */
void picture_text_end(FILE *out, const char *text, size_t size, size_t width);

/* About the width in pixels, never too small for the common fonts. */
size_t picture_text_width(const char *text, size_t size);

/* A number in exactly width (below NUMBER_MAX) bytes, "-" where it is none or does not fit: with so
 * many decimals, or with the digits that fit, six at most; or with its sign. */
#define NUMBER_MAX 16
const char *picture_number_fixed(char out[NUMBER_MAX], int width, int decimals, double value);
const char *picture_number_general(char out[NUMBER_MAX], int width, double value);
const char *picture_number_signed(char out[NUMBER_MAX], int width, int decimals, double value);

/* Print cell i in a panel, in the same number of bytes whatever z is. */
void picture_cell_print(FILE *out, const struct picture_layout *layout,
			const struct picture *picture, size_t panel, size_t i);

#endif
