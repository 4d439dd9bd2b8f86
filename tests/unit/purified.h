/* SPDX-License-Identifier: MIT */
/* purified.h - rows for the purifiers, a table of results for some of them (golden_purify.tsv,
 * from NumPy in double precision, independent of measure/), and properties of every purifier. */
#ifndef TESTS_UNIT_PURIFIED_H
#define TESTS_UNIT_PURIFIED_H

#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>

/* Function under test: purify a row of n values with its usual parameter, or another. The function
 * creates and frees its context. */
typedef bool purify_row(const float *x, size_t n, float *y, double parameter);

/* Lengths of every kind: powers of two, odd, prime, smooth, with large and with several factors. */
static const size_t purify_lengths[] = { 4,   5,   6,	 7,    8,    9,	   16,	 31,   63,
					 64,  100, 127,	 128,  129,  255,  256,	 257,  288,
					 513, 576, 1009, 1536, 2310, 4096, 5003, 11008 };

/* Bell-shaped values of that height around a mean, in memory from malloc(). */
float *bells(size_t n, uint32_t seed, double height, double mean);

double mean_of(const float *x, size_t n);

double deviation(const float *x, size_t n);

double correlation(const float *x, const float *y, size_t n);

/* Distance of x and y, relative to the deviation of x. */
double distance(const float *x, const float *y, size_t n);

void assert_close(double value, double expected, double tolerance, const char *what);

/* Check the columns of the table from rel_l2 to the weighted sum. */
void check_purified(const char *name, const float *x, const float *y, size_t n,
		    const double *golden);

/* Check the table's lines of a method; a row without a change stays the same to the bit. */
void check_golden(const char *method, purify_row *purify, double usual);

/* Check that rows of every length and scale change, and keep their mean and deviation. */
void check_kept(purify_row *purify, double usual, double height, double mean);

/* Check that a x + b becomes a y + b, to the bit for a power of two and its negative. */
void check_affine(purify_row *purify, double usual);

void check_same(purify_row *purify, const float *x, size_t n, double parameter);

/* Check rows that must stay the same, with the bits of NaNs and the signs of zeros. */
void check_unchanged(purify_row *purify, double usual, double idle);

/* Check that a row can be purified in place. */
void check_in_place(purify_row *purify, double usual);

/* Check the largest floats: the result is finite, or the unchanged row. */
void check_largest(purify_row *purify, double usual);

#endif
