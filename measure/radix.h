/* SPDX-License-Identifier: MIT */
/* radix.h - floats as unsigned keys in the numbers' order, and a radix sort of them, which is
 * several times faster than qsort for a sample of a tensor. */
#ifndef MEASURE_RADIX_H
#define MEASURE_RADIX_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The key of a number; -0 and +0 have the same key. Undefined for a NaN. */
static inline uint32_t radix_key(float value)
{
	const float unsigned_zero = value + 0.0f;
	uint32_t bits;

	memcpy(&bits, &unsigned_zero, sizeof(bits));
	return bits ^ ((0u - (bits >> 31)) | 0x80000000u);
}

static inline float radix_value(uint32_t key)
{
	const uint32_t bits = key ^ (((key >> 31) - 1u) | 0x80000000u);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The key of the least float above a bound. */
static inline uint32_t radix_key_above(double bound)
{
	const float nearest = (float)bound;

	return radix_key((double)nearest > bound ? nearest : nextafterf(nearest, INFINITY));
}

/* Sort the keys of the finite ones among count values (below 2^32) in ascending order. Two arrays
 * have room for count keys each. Returns the array with the result. */
uint32_t *radix_sort(const float *values, size_t count, uint32_t *keys, uint32_t *other);

#endif
