/* SPDX-License-Identifier: MIT */
/* low_rank.h - a matrix D as the product B A of two narrow ones that is as near to it as their rank
 * allows: its largest singular values and their vectors.
 *
 * They are found by a randomised method (Halko, Martinsson, Tropp, "Finding structure with
 * randomness", SIAM Review 53, 2011, algorithms 4.4 and 5.1): as many columns Q as the rank and
 * LOW_RANK_OVERSAMPLING more are drawn by chance, multiplied LOW_RANK_ITERATIONS times by D' D and
 * made orthonormal each time, and then D Q has what is looked for. So D is read row by row in
 * LOW_RANK_ITERATIONS + 1 passes, or twice where Q has all of its columns, and never is in memory.
 * Chance is always the same, and every sum in one order: the result depends on nothing but D and
 * the rank. Of a D of low rank that is all; where singular values hardly decrease, as between two
 * trained models, what is kept is less than what could be by 0.3 % of it, and at most 1 %.
 *
 * Memory: with l = rank + LOW_RANK_OVERSAMPLING, to the next multiple of 8, twice columns * l
 * doubles, rows * l floats, a few blocks of rows, of a MiB at most each or of one row, and the
 * result. */
#ifndef MEASURE_LOW_RANK_H
#define MEASURE_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOW_RANK_OVERSAMPLING 24u
#define LOW_RANK_ITERATIONS   4u

/* Where the matrix is read from: rows * columns floats. */
struct low_rank_source {
	size_t rows, columns;
	/* n rows from first on: 0 or -errno. Each pass reads all of them in their order. */
	int (*read)(void *context, size_t first, size_t n, float *values);
	/* Asked now and then: is the result still wanted? NULL: it is. */
	bool (*wanted)(void *context);
	void *context;
};

struct low_rank {
	size_t rank;	 /* the one that was asked for, or less: the lesser of rows and columns */
	float *a;	 /* rank rows of columns values */
	float *b;	 /* rows of rank values. What singular values are is half in each of them */
	double *squares; /* of the singular values, rank of them, the largest first */
	double energy;	 /* the sum of the squares of all finite values of D */
	uint64_t nonfinite; /* values: with one of them all but energy is zeros */
};

/* Find it; of rank 0 nothing but energy and nonfinite, in one pass. low_rank_release() is due where
 * it returns 0. Else it returns what read returned, -EINTR: not wanted any more; -ENOMEM. */
int low_rank_find(const struct low_rank_source *source, size_t rank, struct low_rank *result);
void low_rank_release(struct low_rank *result);

#endif
