/* SPDX-License-Identifier: MIT */
/* lora.c - see lora.h. */
#include "lora.h"

#include "lanes.h"

/* vectors of a row that are summed at a time */
#define STRIP_LANES 8
#define STRIP	    (STRIP_LANES * LANES)

static void add_strip(float *row, size_t count, const float *a, const float *b, size_t rank,
		      float factor)
{
	lanes sums[STRIP_LANES] = { 0 };

	for (size_t r = 0; r < rank; r++)
#pragma GCC unroll 8
		for (size_t l = 0; l < STRIP_LANES; l++)
			sums[l] += b[r] * lanes_load(a + r * count + l * LANES);
	for (size_t l = 0; l < STRIP_LANES; l++)
		lanes_store(row + l * LANES, lanes_load(row + l * LANES) + factor * sums[l]);
}

static void add_one(float *row, size_t count, const float *a, const float *b, size_t rank,
		    float factor)
{
	float sum = 0.0f;

	for (size_t r = 0; r < rank; r++)
		sum += b[r] * a[r * count];
	*row += factor * sum;
}

void lora_add(float *row, size_t count, const float *a, const float *b, size_t rank, float factor)
{
	size_t i = 0;

	for (; i + STRIP <= count; i += STRIP)
		add_strip(row + i, count, a + i, b, rank, factor);
	for (; i < count; i++)
		add_one(row + i, count, a + i, b, rank, factor);
}
