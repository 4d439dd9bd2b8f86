/* SPDX-License-Identifier: MIT */
/* distribution.h - the distribution function F of a sample, and what is read off it: normalised
 * entropy and evenness of spacings.
 *
 * F is Parzen's mid-distribution ("Quantile probability and statistical data modeling", 2004),
 * limited at wide gaps. It is linear between knots, constant outside. At a distinct value v with c
 * ties and C values up to and including them there is the knot (v, (C - c/2) / n): a value tied c
 * times carries half its mass to either side, spread evenly up to the neighbouring value. Where two
 * neighbours are further apart than an eighth of the range, the mass goes only a sixteenth of the
 * range far and F is flat between:
 *
 *	F           ,--b	a, b	neighbouring distinct values
 *	        ___/		g	(hi - lo) / 8
 *	     ,-'   |<>| g/2
 *	    a  g/2		b - a <= g: a straight line from a to b
 *
 * So a quantisation grid of eight levels or more is smoothed away; an isolated atom stays one.
 * lo and hi are the order statistics at 0.1 % and 99.9 %: one outlier would empty a histogram that
 * went from minimum to maximum. */
#ifndef MEASURE_DISTRIBUTION_H
#define MEASURE_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

/* Bins of the histogram over [lo, hi], and spacings between quantiles 0.1 % and 99.9 %. */
#define DISTRIBUTION_BINS     64
#define DISTRIBUTION_SPACINGS 64

/* A distinct value of a sample: how many are smaller, how many equal. */
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
	/* What is looked for next: nothing is found before a value is above the one or of the other
	 * rank. INFINITY, UINT64_MAX: no more. */
	double next_edge;
	uint64_t next_rank;
};

/* The rank, from 0, of lo in a sample of n values; hi has the same rank from above. */
uint64_t distribution_lowest_rank(uint64_t n);

/* A rank that lies in the ties of the value that ends or begins the linear piece of F on which
 * quantile i lies. */
uint64_t distribution_quantile_rank(uint64_t n, unsigned i);

/* Start on a sample of n values; lo < hi. */
void distribution_begin(struct distribution *distribution, uint64_t n, double lo, double hi);

/* Inner edge i of the bins. */
double distribution_edge(const struct distribution *distribution, unsigned i);

/* Tell of a distinct value, ascending: how many are smaller, how many equal. All may be left out
 * but: the last; the ones next to an inner edge on either side; the ones at
 * distribution_quantile_rank() and their neighbours. */
void distribution_add(struct distribution *distribution, double value, uint64_t below,
		      uint64_t ties);

/* After the last value. */
void distribution_end(struct distribution *distribution);

/* Shannon entropy of the histogram relative to that of equal bins: 1 for a uniform law. What lies
 * outside [lo, hi] counts to the end bins. */
double distribution_entropy(const struct distribution *distribution);

/* Coefficient of variation of the distances between neighbouring quantiles, less the part that
 * chance has in it: 0 for evenly spaced values and for uniform noise of any length. */
double distribution_spacing(const struct distribution *distribution);

#endif
