/* SPDX-License-Identifier: MIT */
/* low_rank.h - approximates a matrix D by a product B A of two narrow ones of a given rank, from
 * its largest singular values and their vectors.
 *
 * The method is a randomised subspace iteration (Halko, Martinsson, Tropp, "Finding structure with
 * randomness", SIAM Review 53, 2011, algorithms 4.4 and 5.1): rank + LOW_RANK_OVERSAMPLING random
 * columns Q are multiplied LOW_RANK_ITERATIONS times by D' D and orthonormalised each time; D Q
 * then contains the dominant singular vectors. D is read row by row in LOW_RANK_ITERATIONS + 1
 * passes, or twice if Q has all columns of D, and is never in memory as a whole. The random numbers
 * are fixed, and every sum has one order, so the result depends on D and the rank alone. For a D of
 * low rank the result is exact but for rounding. If singular values hardly decrease, as between two
 * trained models, the kept energy is about 0.3 % below the optimum, and at most 1 %.
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

/* Source of the matrix, rows * columns floats. */
struct low_rank_source {
	size_t rows, columns;
	/* Read n rows from first on, 0 or -errno. Each pass reads all rows in their order. */
	int (*read)(void *context, size_t first, size_t n, float *values);
	/* Called now and then: is the result still wanted? NULL: always. */
	bool (*wanted)(void *context);
	void *context;
};

struct low_rank {
	size_t rank;	    /* the requested rank, limited to the lesser of rows and columns */
	float *a;	    /* rank rows of columns values */
	float *b;	    /* rows of rank values. a and b each have the roots of singular
			     * values */
	double *squares;    /* squares of the rank singular values, in descending order */
	double energy;	    /* sum of squares of all finite values of D */
	uint64_t nonfinite; /* values that are not finite; if any, only energy is set */
};

/* Find the product; for rank 0, only energy and nonfinite, in one pass. Returns 0, and
 * low_rank_release() has to follow; or an error of read; -EINTR if no longer wanted; or -ENOMEM. */
int low_rank_find(const struct low_rank_source *source, size_t rank, struct low_rank *result);
void low_rank_release(struct low_rank *result);

#endif
