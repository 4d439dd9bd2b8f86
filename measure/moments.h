/* SPDX-License-Identifier: MIT */
/* moments.h - sums over a sample in storage order: mean, central moments, and the energy of its
 * Haar approximations. Two passes over the same pieces, because the moments are about the mean; all
 * sums in double precision.
 *
 * A piece has SAMPLE_SPAN neighbouring values, fewer only at the end. Each piece has its own Haar
 * pyramid, because pieces need not be neighbours. */
#ifndef MEASURE_MOMENTS_H
#define MEASURE_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scales of one piece: 2^0 to 2^8. */
#define HAAR_LEVELS 9

struct moments {
	/* first pass */
	uint64_t finite, nonfinite, zeros; /* zeros: of the finite ones */
	double sum;
	float min, max; /* of the finite values */
	/* second pass; energy[0] also is the sum of squares */
	double mean, fourths;
	double energy[HAAR_LEVELS];
	uint64_t coefficients[HAAR_LEVELS];
};

void moments_init(struct moments *moments);

/* Add a piece in the first pass. Values that are not finite are counted and left out. */
void moments_add(struct moments *moments, const float *piece, size_t count);

/* Call between the passes. */
void moments_centre(struct moments *moments);

/* Add a piece in the second pass. In the pyramid the mean replaces values that are not finite. */
void moments_add_centred(struct moments *moments, const float *piece, size_t count);

/* Population standard deviation, after the second pass, if any value is finite. */
double moments_deviation(const struct moments *moments);

/* Excess kurtosis m4 / m2^2 - 3 (population), after the second pass, if values differ. */
double moments_kurtosis(const struct moments *moments);

/* dI/d(ln s): the least-squares slope of I = 1/2 ln(mean energy) at scale s over ln s, clipped to
 * [-1/2, 1/2]. 0 for uncorrelated values of any law, 1/2 for a pattern that persists over all
 * scales, -1/2 for alternation. Levels with fewer than 64 coefficients are ignored. False: fewer
 * than two levels remain. */
bool moments_slope(const struct moments *moments, double *slope);

#endif
