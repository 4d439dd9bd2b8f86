/* SPDX-License-Identifier: MIT */
/* radix.c - see radix.h. Least significant digit first, digits of eleven bits. */
#include "radix.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

/* The bits of a float as a number that is in the float's order: the sign bit is turned, and all
 * bits of negative numbers, which are the larger the smaller they are. */
static uint32_t key_of(uint32_t bits)
{
	return bits ^ (bits >> 31 ? UINT32_MAX : 0x80000000u);
}

static uint32_t bits_of(uint32_t key)
{
	return key ^ (key >> 31 ? 0x80000000u : UINT32_MAX);
}

static void count_digits(const uint32_t *keys, size_t n, size_t counts[3][DIGITS])
{
	memset(counts, 0, 3 * sizeof(counts[0]));
	for (size_t i = 0; i < n; i++)
		for (int pass = 0; pass < 3; pass++)
			counts[pass][keys[i] >> pass * DIGIT_BITS & (DIGITS - 1)]++;
	for (int pass = 0; pass < 3; pass++) {
		size_t sum = 0;

		for (size_t digit = 0; digit < DIGITS; digit++) {
			const size_t count = counts[pass][digit];

			counts[pass][digit] = sum;
			sum += count;
		}
	}
}

void radix_sort(float *values, size_t n, uint32_t *scratch)
{
	uint32_t *from = scratch, *to = scratch + n, *swap;
	size_t places[3][DIGITS];

	for (size_t i = 0; i < n; i++) {
		memcpy(&from[i], &values[i], sizeof(from[i]));
		from[i] = key_of(from[i]);
	}
	count_digits(from, n, places);
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < n; i++)
			to[places[pass][from[i] >> pass * DIGIT_BITS & (DIGITS - 1)]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < n; i++) {
		const uint32_t bits = bits_of(from[i]);

		memcpy(&values[i], &bits, sizeof(bits));
	}
}
