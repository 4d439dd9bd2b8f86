/* SPDX-License-Identifier: MIT */
/* difference.h - distances between the values of two tensors of equal shape: sums over pairs of
 * values, which may be added in pieces, and figures derived from the sums. Sums are in double
 * precision and in the order of the values. */
#ifndef MEASURE_DIFFERENCE_H
#define MEASURE_DIFFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Initialise with zeros. */
struct difference {
	uint64_t pairs;	    /* pairs of finite values; the members below count only these */
	uint64_t nonfinite; /* pairs with a value that is not finite, left out */
	double a_squares, b_squares, products; /* sums of a², b², ab */
	double squares, distances;	       /* sums of (a - b)² and |a - b| */
	double magnitudes;		       /* sum of |a| + |b| */
	double largest;			       /* |a - b| */
};

/* Add n pairs. */
void difference_add(struct difference *difference, const float *a, const float *b, size_t n);

/* Cosine of the angle between both tensors, -1 to 1. NaN: one has only zeros, or no pairs. */
double difference_cosine(const struct difference *difference);

/* Norm of a - b divided by the norm of a. 0 if both are equal, infinite if only a has only zeros,
 * NaN without pairs. */
double difference_relative(const struct difference *difference);

/* Mean of |a - b| divided by the mean of all magnitudes, in percent, times 0.75. This is the figure
 * of `gguf-tools compare`, which is 100 % for uniform noise between -N and N. 0 if both are equal,
 * NaN without pairs. */
double difference_average(const struct difference *difference);

#endif
