/* SPDX-License-Identifier: MIT */
/* lora.h - merging a low-rank adapter into a row: W + factor * B A.
 *
 * All arithmetic is in single precision and in a fixed order, so that every machine gives the same
 * result: the products of an element are added from r = 0 on, the sum is multiplied by the factor
 * and added to W; each step is rounded. Several adapters are added one after the other. */
#ifndef MEASURE_LORA_H
#define MEASURE_LORA_H

#include <stddef.h>

/* The factor of B A: the user's scale times alpha / rank, or the scale alone if alpha is 0, which
 * stands for an adapter without alpha. */
static inline float lora_factor(float scale, float alpha, size_t rank)
{
	return alpha != 0.0f ? scale * alpha / (float)rank : scale;
}

/* row[i] += factor * sum over r of b[r] a[r * count + i]. a is the whole matrix A, rank rows of
 * count values; b is the row of B, rank values, for this row of W. */
void lora_add(float *row, size_t count, const float *a, const float *b, size_t rank, float factor);

#endif
