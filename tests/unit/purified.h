/* SPDX-License-Identifier: MIT */
/* purified.h - rows for the purifiers, the table of results for some of them
 * (golden_purify.tsv, computed in NumPy in double precision, independently of measure/), and
 * properties of every purifier. */
#ifndef TESTS_UNIT_PURIFIED_H
#define TESTS_UNIT_PURIFIED_H

#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>

/* Function under test: purify a row of n values with the usual parameter, or with another. Creates
 * and frees its context. */
typedef bool purify_row(const float *x, size_t n, float *y, double parameter);

/* Lengths of every kind: powers of two, odd, prime, smooth, with large and with several factors. */
static const size_t purify_lengths[] = { 4,   5,   6,	 7,    8,    9,	   16,	 31,   63,
					 64,  100, 127,	 128,  129,  255,  256,	 257,  288,
					 513, 576, 1009, 1536, 2310, 4096, 5003, 11008 };

/* Bells of this height about a mean, in memory from malloc(). */
float *bells(size_t n, uint32_t seed, double height, double mean);

double mean_of(const float *x, size_t n);

double deviation(const float *x, size_t n);

double correlation(const float *x, const float *y, size_t n);

/* Relative to the deviation of x. */
double distance(const float *x, const float *y, size_t n);

void assert_close(double value, double expected, double tolerance, const char *what);

/* Columns rel_l2 to the weighted sum. */
void check_purified(const char *name, const float *x, const float *y, size_t n,
		    const double *golden);

/* The lines of the table with this method; a row where nothing changes is the same to the bit. */
void check_golden(const char *method, purify_row *purify, double usual);

/* Mean and deviation are kept, of rows of every length and scale, and the row changes. */
void check_kept(purify_row *purify, double usual, double height, double mean);

/* Purifying a x + b gives a y + b, exact to the bit for a power of two and its negative. */
void check_affine(purify_row *purify, double usual);

void check_same(purify_row *purify, const float *x, size_t n, double parameter);

/* Rows that stay as they are, the bits of a NaN and the signs of zeros with them. */
void check_unchanged(purify_row *purify, double usual, double idle);

/* A row may be purified where it is. */
void check_in_place(purify_row *purify, double usual);

/* The largest floats of all: finite ones come out, and where they cannot, the same. */
void check_largest(purify_row *purify, double usual);

#endif
