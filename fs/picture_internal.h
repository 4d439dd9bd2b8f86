/* SPDX-License-Identifier: MIT */
/* picture_internal.h - the parts of a picture: places (picture_layout.c), text of any bytes
 * (picture_text.c), what one tensor shows (picture_cell.c). */
#ifndef FS_PICTURE_INTERNAL_H
#define FS_PICTURE_INTERNAL_H

#include "fs/picture.h"

#include <stdbool.h>

/* Pixels. The text sizes are the smallest that are read without effort. */
enum {
	PICTURE_MARGIN = 20,
	PICTURE_LABEL = 11,	/* size of the names */
	PICTURE_NUMBER = 10,	/* size of the block numbers */
	PICTURE_GAP = 8,	/* between a cell and its name */
	PICTURE_SIDE_CELL = 44, /* width of a cell beside the blocks */
	PICTURE_DECIMALS = 36,	/* cells of this width show a decimal, */
	PICTURE_WHOLE = 16,	/* of this width whole degrees, */
	PICTURE_MARKS = 9,	/* of this width what is special about them */
};

struct cell {
	const struct figure *figure;
	const struct figure *first; /* of this role and class */
	size_t copy;		    /* how many of this role stand in this block before it */
	uint64_t x, y;
};

struct row {
	const struct figure *figure; /* any of its tensors */
	bool heading;		     /* the first one of its class */
	uint64_t y;
};

/* Where everything stands. The arrays are owned. */
struct layout {
	struct cell *cells; /* n of them: those in blocks first, row by row */
	size_t n, in_blocks;
	struct row *rows;
	size_t n_rows;
	int32_t *blocks; /* the numbers that occur, ascending: the columns */
	size_t n_blocks;
	uint64_t cell_width, cell_height; /* from one cell to the next */
	uint64_t label_width, side_width; /* of the names left and right */
	uint64_t grid_x, grid_y, side_x;
	uint64_t numbers_y;	/* of the block numbers below the rows; 0: none */
	uint64_t width, height; /* of the picture */
};

/* Place the figures below the line top. Returns 0 or -ENOMEM; layout_free() is due either way. */
int layout_make(struct layout *layout, const struct picture *picture, uint64_t top);
void layout_free(struct layout *layout);

/* The lines that hold a text, no two of them closer than this many columns. */
size_t layout_step(const struct layout *layout);

/* Print any bytes as XML text, all of them. */
void text_print(FILE *out, const char *text);

/* The same, cut in the middle where it would be wider than so many pixels in letters of this
 * size. */
void text_print_cut(FILE *out, const char *text, uint64_t size, uint64_t width);

/* About the width in pixels, never too small for the common fonts. */
uint64_t text_width(const char *text, uint64_t size);

/* A number in exactly width (below NUMBER_MAX) bytes, "-" where it is none or does not fit: with so
 * many decimals, or with the digits that fit, six at most. */
#define NUMBER_MAX 16
const char *number_fixed(char out[NUMBER_MAX], int width, int decimals, double value);
const char *number_general(char out[NUMBER_MAX], int width, double value);

/* The angle to show of a tensor, NaN where there is none or its numbers mean nothing. */
double figure_theta(const struct figure *figure);

/* "#rrggbb" for an angle in [0, 90]. */
#define COLOUR_STOPS 10
#define COLOUR_MAX   8
const char *colour_of(char out[COLOUR_MAX], double theta);

/* Print a cell of this size at its place, in the same number of bytes whatever z is. */
void cell_print(FILE *out, const struct cell *cell, uint64_t width, uint64_t height);

#endif
