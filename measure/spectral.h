/* SPDX-License-Identifier: MIT */
/* spectral.h - removes the weak part of a row's power spectrum: the longest sequence of
 * frequencies, ascending by energy (of equal ones the higher frequency first), whose removal leaves
 * the given part of the energy about the mean. purify.h describes which figures are kept and which
 * rows stay unchanged; rows without removed frequencies do, too. The correlation with the row is
 * the square root of the part that is left. */
#ifndef MEASURE_SPECTRAL_H
#define MEASURE_SPECTRAL_H

#include <stdbool.h>
#include <stddef.h>

#define SPECTRAL_KEEP 0.99 /* of the energy; 1: no change */

/* State for rows of one length; one thread at a time. */
struct spectral;

/* For rows of count values, at most 2^28, whose results have at most the magnitude `most`, FLT_MAX
 * or less. NULL: out of memory, or too many. */
struct spectral *spectral_new(size_t count, float most);
void spectral_free(struct spectral *spectral);

/* Purify the row x to y, which may be x. False: y is x, bit for bit. */
bool spectral_purify(struct spectral *spectral, const float *x, float *y, double keep);

#endif
