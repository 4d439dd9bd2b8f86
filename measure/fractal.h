/* SPDX-License-Identifier: MIT */
/* fractal.h - a row without the fine detail that exists at one scale only.
 *
 * The row is centred, padded with its mean to a power of two, and decomposed by an orthonormal Haar
 * pyramid of at most FRACTAL_LEVELS levels. The support of a detail is the energy in the same place
 * at twice its scale or, if more, half of what is at half its scale. A detail whose energy exceeds
 * its support by more than 1 / FRACTAL_RATIO is attenuated, by a part of its amplitude that grows
 * from 0 there to the strength where nothing supports it. 1/8 is the ratio of a locally linear
 * pattern: spikes, smooth curves and most edges stay as they are. purify.h says what is kept, and
 * which rows stay as they are; one without such a detail does, too. */
#ifndef MEASURE_FRACTAL_H
#define MEASURE_FRACTAL_H

#include <stdbool.h>
#include <stddef.h>

#define FRACTAL_LEVELS	 8
#define FRACTAL_RATIO	 0.125f
#define FRACTAL_STRENGTH 0.375f /* 0: nothing changes */

/* For rows of one length. Not for two threads at once. */
struct fractal;

/* For rows of count values, whose results are at most of this magnitude: FLT_MAX or less. NULL: no
 * memory. */
struct fractal *fractal_new(size_t count, float most);
void fractal_free(struct fractal *fractal);

/* The row x, purified, as y, which may be x. False: y is x, to the last bit. */
bool fractal_purify(struct fractal *fractal, const float *x, float *y, float strength);

#endif
