/* SPDX-License-Identifier: MIT */
/* picture_internal.h - where the parts of a picture stand. Lengths in pixels. */
#ifndef FS_PICTURE_INTERNAL_H
#define FS_PICTURE_INTERNAL_H

#include "fs/picture.h"

/* A tensor in its place. */
struct picture_cell {
	const struct figure *figure;
	size_t index;  /* in file order */
	size_t row;    /* of picture_plan.rows; outside of blocks meaningless */
	size_t column; /* of picture_plan.blocks */
	size_t copy;   /* of several with one role in one block, which one */
};

/* The tensors of one role, at most one a block. */
struct picture_row {
	const struct figure *figure; /* the first of them */
	size_t first;		     /* its index */
	size_t copy;
	double y;
};

struct picture_plan {
	size_t n_cells, n_outside, n_rows, n_blocks;
	struct picture_cell *cells;   /* those in blocks */
	struct picture_cell *outside; /* the others, by class */
	struct picture_row *rows;     /* by class, then as they first appear */
	int32_t *blocks;	      /* block numbers that occur, ascending */
	double cell;		      /* width of a cell */
	double left, top;	      /* of the grid */
	double right;		      /* end of the grid, left of what is outside of blocks */
	double bottom;
	size_t outside_lines; /* cells in a column of those outside of blocks */
	double outside_width; /* of such a column */
	double width, height;
};

#define PICTURE_MARGIN	    20.0
#define PICTURE_LINE	    18.0  /* from row to row */
#define PICTURE_HEADING	    24.0  /* above the rows of a class */
#define PICTURE_LETTER	    6.4	  /* width of most letters at the size of labels */
#define PICTURE_WIDTH_LEAST 800.0 /* for the title and the legend */
#define PICTURE_LABEL_MOST  28	  /* letters of a label */

/* In which order classes stand. */
int picture_rank(enum organ_class klass);

/* Put everything in its place. Returns 0 or -ENOMEM; release it either way. */
int picture_arrange(const struct picture *picture, struct picture_plan *plan);
void picture_release(struct picture_plan *plan);

#endif
