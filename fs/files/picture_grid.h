/* SPDX-License-Identifier: MIT */
/* picture_grid.h - the arrangement of a picture of θ, for every program that draws it: a row for
 * each role of tensors in blocks, in the same order for all models, a column for each block, and
 * beside them the tensors outside the blocks. Each cell has the deviation of its angle from its
 * row's, and its changes. The grid has one model, or two side by side. */
#ifndef FS_FILES_PICTURE_GRID_H
#define FS_FILES_PICTURE_GRID_H

#include "fs/lazy/figures.h"

#include <stdbool.h>

/* Steps of deviation from a row's median, as palette_step() takes them, of half a spread each.
 * GRID_NONE: the angle is unknown, or the row has too few. */
#define GRID_STEPS	6
#define GRID_NONE	INT32_MAX
#define GRID_SPREAD_MIN 1.0 /* degrees: rows of nearly equal angles are not exaggerated */
#define GRID_FEW	3   /* rows with fewer known angles are not compared */

#define GRID_NO_DONOR SIZE_MAX

/* One model's tensor in a cell. */
struct picture_grid_side {
	const struct figure *figure; /* NULL: the model has no such tensor */
	double theta;		     /* degrees; NaN: none */
	double median, spread;	     /* of the angles that it is compared with; NaN: too few */
	int step;		     /* of the deviation; GRID_NONE: none */
	size_t donor;		     /* GRID_NO_DONOR: no graft, or the donor is unknown */
};

struct picture_grid_cell {
	struct picture_grid_side sides[2];
	size_t row, column; /* of a cell in blocks */
	double delta;	    /* second θ minus first θ; NaN: one is unknown */
	int step;	    /* of delta; GRID_NONE: none */
};

/* The first side of the cell that has a tensor. */
static inline const struct picture_grid_side *picture_grid_side_of(
	const struct picture_grid_cell *cell)
{
	return &cell->sides[cell->sides[0].figure ? 0 : 1];
}

/* Whether it is a tensor that was not removed. */
static inline bool picture_grid_is_there(const struct figure *figure)
{
	return figure && !figure_is(figure, FIGURE_REMOVED);
}

struct picture_grid_row {
	const char *role;  /* borrowed */
	bool section;	   /* a gap before the row: attention or feed-forward ends */
	double medians[2]; /* of each side; NaN: too few */
};

/* A donor of grafts. */
struct picture_grid_donor {
	const char *key; /* borrowed: the path of a GGUF, or of a directory with '/' at its end */
	char *label;	 /* owned: the file's name without directories and ".gguf" */
	size_t cells;
};

/* The arrays are owned. */
struct picture_grid {
	size_t n_sides;			 /* 1 or 2 */
	struct picture_grid_cell *cells; /* n cells: those in blocks first, row by row */
	size_t n, in_blocks;
	struct picture_grid_row *rows;
	size_t n_rows;
	int32_t *blocks; /* columns: block numbers, ascending */
	size_t n_blocks;
	int32_t *there; /* blocks that have a tensor that was not removed */
	size_t n_there;
	struct picture_grid_donor *donors; /* those with the most cells first */
	size_t n_donors;
	size_t unknown;			/* grafts with an unknown donor */
	size_t changes[FIGURE_CHANGES]; /* number of cells with each change */
	double delta_full;		/* difference in degrees at the last step */
};

/* Arrange the figures of a model, removed tensors included, and those of a second one unless
 * seconds is NULL. The grid borrows from the figures. Places and counts do not depend on z. Returns
 * 0 or -ENOMEM; picture_grid_free() is due either way. */
int picture_grid_make(struct picture_grid *grid, const struct figures *firsts,
		      const struct figures *seconds);
void picture_grid_free(struct picture_grid *grid);

/* "=", "z", "s", "^", "!", "-": the mark of an unusual measure, ' ' for none; and its word. */
char picture_grid_mark(const struct figure *figure);
#define GRID_MARKS "=zs^!-"
const char *picture_grid_mark_name(char mark);

/* Number of columns of a band, 0 without blocks. Columns are cut into bands of equal width, each at
 * most `most` columns wide if bands_most bands suffice for that. */
size_t picture_grid_band(const struct picture_grid *grid, size_t most, size_t bands_most);

/* The least of 1, 2, 5, 10, 20 and so on whose columns of that width are at least room wide. */
size_t picture_grid_step(size_t width, size_t room);

/* "0-3, 5": the blocks that are not wholly removed, cut after n bytes. Returns their number. */
size_t picture_grid_blocks_text(const struct picture_grid *grid, char *text, size_t n);

/* Place of a role among the rows. Unknown roles come after those that they resemble. */
struct picture_grid_rank {
	unsigned section, place;
	bool extra;	  /* a bias or a scale, after its weight */
	const char *role; /* borrowed */
	enum organ_class klass;
};
struct picture_grid_rank picture_grid_rank_of(const struct figure *figure);
int picture_grid_compare_ranks(const struct picture_grid_rank *a,
			       const struct picture_grid_rank *b);

/* Fill in median, spread, step and delta of all cells and rows. Returns 0 or -ENOMEM. */
int picture_grid_compare(struct picture_grid *grid);

/* The median of n values, which get sorted, and 1.4826 times the median distance from it, at least
 * GRID_SPREAD_MIN. NaN for fewer than GRID_FEW values. */
void picture_grid_spread(double *values, size_t n, double *median, double *spread);

#endif
