/* SPDX-License-Identifier: MIT */
/* spectral.h - a row without the weak part of its power spectrum: ascending by energy, of equal
 * ones the higher frequency first, the longest sequence of frequencies is removed that leaves the
 * given part of the energy about the mean. purify.h says what is kept, and which rows stay as they
 * are; one of which nothing is removed does, too. The correlation with the row is then the square
 * root of the part that is left. */
#ifndef MEASURE_SPECTRAL_H
#define MEASURE_SPECTRAL_H

#include <stdbool.h>
#include <stddef.h>

#define SPECTRAL_KEEP 0.99 /* of the energy; 1: nothing changes */

/* For rows of one length. Not for two threads at once. */
struct spectral;

/* For rows of count values, at most 2^28, whose results are at most of this magnitude: FLT_MAX or
 * less. NULL: no memory, or too many. */
struct spectral *spectral_new(size_t count, float most);
void spectral_free(struct spectral *spectral);

/* The row x, purified, as y, which may be x. False: y is x, to the last bit. */
bool spectral_purify(struct spectral *spectral, const float *x, float *y, double keep);

#endif
