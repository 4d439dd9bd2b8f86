/* SPDX-License-Identifier: MIT */
/* difference.h - how far the values of two tensors of one shape are apart: sums over pairs of
 * values, which may be added in pieces, and what follows from them. Sums are in double precision
 * and in the order of the values. */
#ifndef MEASURE_DIFFERENCE_H
#define MEASURE_DIFFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Zeros at first. */
struct difference {
	uint64_t pairs;	    /* of finite values, of which all that follows is */
	uint64_t nonfinite; /* pairs that are left out, for one of the two is no finite value */
	double a_squares, b_squares, products; /* sums of a², b², ab */
	double squares, distances;	       /* sums of (a - b)² and |a - b| */
	double magnitudes;		       /* sum of |a| + |b| */
	double largest;			       /* |a - b| */
};

/* n more pairs. */
void difference_add(struct difference *difference, const float *a, const float *b, size_t n);

/* The cosine of the angle between the two as vectors, -1 to 1. NaN: one of them is all zeros, or
 * there are no pairs. */
double difference_cosine(const struct difference *difference);

/* The length of a - b over that of a. 0 where they are equal, infinite where only a is all zeros,
 * NaN without pairs. */
double difference_relative(const struct difference *difference);

/* The mean of |a - b| over the mean of all magnitudes, in percent, times 0.75: what `gguf-tools
 * compare` prints, which says 100 % of noise that is even between -N and N. 0 where they are equal,
 * NaN without pairs. */
double difference_average(const struct difference *difference);

#endif
