/* SPDX-License-Identifier: MIT */
/* lora.h - a low-rank adapter merged into a row: W + factor * B A.
 *
 * Everything is in single precision and in one order, so that the result is the same on every
 * machine: the products of one element are added up from r = 0 on, the sum is multiplied by the
 * factor and added to W, and each of these steps is rounded. Of several adapters one is added after
 * the other. */
#ifndef MEASURE_LORA_H
#define MEASURE_LORA_H

#include <stddef.h>

/* What B A is multiplied by: the user's scale times alpha / rank; an alpha of 0 means that the
 * adapter has none, and the scale alone counts. */
static inline float lora_factor(float scale, float alpha, size_t rank)
{
	return alpha != 0.0f ? scale * alpha / (float)rank : scale;
}

/* row[i] += factor * sum over r of b[r] a[r * count + i]. a is all of A, rank rows of count values;
 * b is the row of B, rank values, that belongs to this row of W. */
void lora_add(float *row, size_t count, const float *a, const float *b, size_t rank, float factor);

#endif
