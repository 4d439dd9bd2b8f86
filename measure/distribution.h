/* SPDX-License-Identifier: MIT */
/* distribution.h - the distribution function F of a sample, with normalised entropy and evenness of
 * spacings.
 *
 * F is Parzen's mid-distribution ("Quantile probability and statistical data modeling", 2004),
 * limited at wide gaps. It is linear between knots, constant outside. At a distinct value v with c
 * ties and C values up to and including them there is the knot (v, (C - c/2) / n): a value tied c
 * times carries half its mass to either side, spread evenly up to the neighbouring value. If two
 * neighbours are further apart than an eighth of the range, the mass extends only a sixteenth of
 * the range and F is flat between:
 *
 *	F           ,--b	a, b	neighbouring distinct values
 *	        ___/		g	(hi - lo) / 8
 *	     ,-'   |<>| g/2
 *	    a  g/2		b - a <= g: a straight line from a to b
 *
 * A quantisation grid of eight levels or more is thus smoothed away, and an isolated atom stays
 * one. lo and hi are the order statistics at 0.1 % and 99.9 %, because one outlier would empty a
 * histogram from minimum to maximum. */
#ifndef MEASURE_DISTRIBUTION_H
#define MEASURE_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

/* Bins of the histogram over [lo, hi], and spacings between quantiles 0.1 % and 99.9 %. */
#define DISTRIBUTION_BINS     64
#define DISTRIBUTION_SPACINGS 64

/* A distinct value of a sample, with the numbers of smaller and of equal values. */
struct atom {
	double value;
	uint64_t below, ties;
};

struct distribution {
	uint64_t n;
	double lo, hi;
	double cdf[DISTRIBUTION_BINS - 1]; /* F at the inner edges of the bins */
	double quantiles[DISTRIBUTION_SPACINGS + 1];
	struct atom last;
	unsigned edges, found; /* of cdf[], of quantiles[] */
	/* Limits of the next search: nothing is found before a value exceeds next_edge or reaches
	 * another rank. INFINITY, UINT64_MAX: no more. */
	double next_edge;
	uint64_t next_rank;
};

/* The rank, from 0, of lo in a sample of n values; hi has the same rank from the top. */
uint64_t distribution_lowest_rank(uint64_t n);

/* A rank among the ties of a value that begins or ends the linear piece of F with quantile i. */
uint64_t distribution_quantile_rank(uint64_t n, unsigned i);

/* Begin a sample of n values; lo < hi. */
void distribution_begin(struct distribution *distribution, uint64_t n, double lo, double hi);

/* Inner edge i of the bins. */
double distribution_edge(const struct distribution *distribution, unsigned i);

/* Add a distinct value; values come in ascending order. Values may be skipped except: the last one;
 * the neighbours of an inner edge on both sides; those at distribution_quantile_rank() and their
 * neighbours. */
void distribution_add(struct distribution *distribution, double value, uint64_t below,
		      uint64_t ties);

/* Call after the last value. */
void distribution_end(struct distribution *distribution);

/* Shannon entropy of the histogram, divided by that of equal bins: 1 for a uniform law. Values
 * outside [lo, hi] count in the outermost bins. */
double distribution_entropy(const struct distribution *distribution);

/* Coefficient of variation of the distances between neighbouring quantiles, minus the part due to
 * chance: 0 for evenly spaced values, and for uniform noise of any length. */
double distribution_spacing(const struct distribution *distribution);

#endif
