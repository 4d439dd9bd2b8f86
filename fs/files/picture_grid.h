/* SPDX-License-Identifier: MIT */
/* picture_grid.h - what a picture of θ shows, for every program that draws it: a row for each part
 * that tensors play in the blocks, in one order for all models, a column for each block, beside
 * them the tensors that belong to no block. Of each cell how far its angle is from those of its
 * row, and what was grafted. Of one model, or of two side by side. */
#ifndef FS_FILES_PICTURE_GRID_H
#define FS_FILES_PICTURE_GRID_H

#include "fs/lazy/figures.h"

#include <stdbool.h>

/* Steps of deviation from a row's median, as palette_step() takes them; GRID_NONE: the angle is not
 * known, or there are too few to compare it with. A step is half a spread. */
#define GRID_STEPS	6
#define GRID_NONE	INT32_MAX
#define GRID_SPREAD_MIN 1.0 /* degrees: rows of nearly equal angles do not look dramatic */
#define GRID_FEW	3   /* angles that make no row to compare with */

#define GRID_NO_DONOR SIZE_MAX

/* What one of the two models has in a cell. */
struct picture_grid_side {
	const struct figure *figure; /* NULL: it has no such tensor */
	double theta;		     /* degrees; NaN: none */
	double median, spread;	     /* of those that it is compared with; NaN: too few */
	int step;		     /* of deviation; GRID_NONE: none */
	size_t donor; /* GRID_NO_DONOR: it was not grafted, or the donor is unknown */
};

struct picture_grid_cell {
	struct picture_grid_side sides[2];
	size_t row, column; /* of those in blocks */
	double delta;	    /* the second's θ less the first's; NaN: one of them has none */
	int step;	    /* of that; GRID_NONE: none */
};

/* The first that a cell has. */
static inline const struct picture_grid_side *picture_grid_side_of(
	const struct picture_grid_cell *cell)
{
	return &cell->sides[cell->sides[0].figure ? 0 : 1];
}

/* Is it a tensor that was not removed? */
static inline bool picture_grid_is_there(const struct figure *figure)
{
	return figure && !figure_is(figure, FIGURE_REMOVED);
}

struct picture_grid_row {
	const char *role;  /* borrowed */
	bool section;	   /* a gap comes before it: attention ends, or feed-forward does */
	double medians[2]; /* of each side; NaN: too few */
};

/* Where grafts came from. */
struct picture_grid_donor {
	const char *key; /* borrowed: the path of a GGUF, or of a directory with '/' at its end */
	char *label;	 /* owned: the file's name without directories and ".gguf" */
	size_t cells;
};

/* The arrays are owned. */
struct picture_grid {
	size_t n_sides;		 /* 1 or 2 */
	struct picture_grid_cell *cells; /* n of them: those in blocks first, row by row */
	size_t n, in_blocks;
	struct picture_grid_row *rows;
	size_t n_rows;
	int32_t *blocks; /* the numbers that occur, ascending: the columns */
	size_t n_blocks;
	int32_t *there; /* those of them of which not all was removed */
	size_t n_there;
	struct picture_grid_donor *donors; /* those with most cells first */
	size_t n_donors;
	size_t unknown;			/* grafts whose donor is not known */
	size_t changes[FIGURE_CHANGES]; /* how many cells have each */
	double delta_full;		/* degrees of difference that the last step stands for */
};

/* Arrange the figures of a model, and of a second one where seconds is not NULL; those that were
 * removed too. All that it points to is theirs. Returns 0 or -ENOMEM; picture_grid_free() is due
 * either way. What is placed where, and all counts, do not depend on any z. */
int picture_grid_make(struct picture_grid *grid, const struct figures *firsts,
		      const struct figures *seconds);
void picture_grid_free(struct picture_grid *grid);

/* "=", "z", "s", "^", "!", "-": what is special about a measured tensor, ' ' for nothing; and the
 * word for it. */
char picture_grid_mark(const struct figure *figure);
#define GRID_MARKS "=zs^!-"
const char *picture_grid_mark_name(char mark);

/* Columns are cut into bands of the same width, so many that no one has more than most; but not
 * into more than bands_most. Returns the columns of a band, 0 where there are no blocks. */
size_t picture_grid_band(const struct picture_grid *grid, size_t most, size_t bands_most);

/* The least of 1, 2, 5, 10, 20 and so on, so many columns of that width are at least room. */
size_t picture_grid_step(size_t width, size_t room);

/* "0-3, 5": the blocks of which not all was removed, cut after n bytes. Returns how many. */
size_t picture_grid_blocks_text(const struct picture_grid *grid, char *text, size_t n);

/* Where a role stands among the rows. Roles of no table come after those that they resemble. */
struct picture_grid_rank {
	unsigned section, place;
	bool extra;	  /* a bias or a scale, after its weight */
	const char *role; /* borrowed */
	enum organ_class klass;
};
struct picture_grid_rank picture_grid_rank_of(const struct figure *figure);
int picture_grid_compare_ranks(const struct picture_grid_rank *a,
			       const struct picture_grid_rank *b);

/* Fill median, spread and step of all cells and rows, and deltas (picture_grid_spread.c). Returns 0
 * or -ENOMEM. */
int picture_grid_compare(struct picture_grid *grid);

/* The median of n values, which are sorted for it, and 1.4826 times the median of their distances
 * from it, GRID_SPREAD_MIN at least. NaN for fewer than GRID_FEW. */
void picture_grid_spread(double *values, size_t n, double *median, double *spread);

#endif
