/* SPDX-License-Identifier: MIT */
/* fractal.h - removes from a row the fine detail that exists at one scale only.
 *
 * The row is centred, padded with its mean to a power of two, and decomposed by an orthonormal Haar
 * pyramid of at most FRACTAL_LEVELS levels. The support of a detail is the greater of the energy in
 * the same place at twice its scale and half the energy at half its scale. A detail whose energy
 * exceeds its support by more than 1 / FRACTAL_RATIO is attenuated: its amplitude loses a part that
 * grows from 0 at this bound to the strength without support. 1/8 is the ratio of a locally linear
 * pattern, so spikes, smooth curves and most edges stay unchanged. purify.h describes which figures
 * are kept and which rows stay unchanged; rows without such a detail do, too. */
#ifndef MEASURE_FRACTAL_H
#define MEASURE_FRACTAL_H

#include <stdbool.h>
#include <stddef.h>

#define FRACTAL_LEVELS	 8
#define FRACTAL_RATIO	 0.125f
#define FRACTAL_STRENGTH 0.375f /* 0: no change */

/* State for rows of one length; one thread at a time. */
struct fractal;

/* For rows of count values; results are at most `most`, FLT_MAX or less. NULL: out of memory. */
struct fractal *fractal_new(size_t count, float most);
void fractal_free(struct fractal *fractal);

/* Purify the row x to y, which may be x. False: y is x, bit for bit. */
bool fractal_purify(struct fractal *fractal, const float *x, float *y, float strength);

#endif
