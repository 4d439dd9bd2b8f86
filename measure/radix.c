/* SPDX-License-Identifier: MIT */
/* radix.c - see radix.h. Least significant digit first, three digits of eleven bits, all counted
 * while the keys are made. A digit equal in all keys needs no pass: values converted from 16 bits
 * share the lowest one. */
#include "radix.h"

#include <stdbool.h>

#define DIGITS	   3
#define DIGIT_BITS 11
#define BUCKETS	   (1u << DIGIT_BITS)

static uint32_t digit_of(uint32_t key, unsigned digit)
{
	return key >> digit * DIGIT_BITS & (BUCKETS - 1);
}

/* Returns the number of keys. */
static size_t make_keys(const float *values, size_t count, uint32_t *keys,
			uint32_t counts[DIGITS][BUCKETS])
{
	size_t n = 0;

	memset(counts, 0, sizeof(uint32_t[DIGITS][BUCKETS]));
	for (size_t i = 0; i < count; i++) {
		const uint32_t key = radix_key(values[i]);

		if (!isfinite(values[i]))
			continue;
		keys[n++] = key;
		for (unsigned d = 0; d < DIGITS; d++)
			counts[d][digit_of(key, d)]++;
	}
	return n;
}

/* Turn the counts of a digit into the place of each bucket's first key. */
static void counts_to_places(uint32_t counts[BUCKETS])
{
	uint32_t place = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		const uint32_t count = counts[i];

		counts[i] = place;
		place += count;
	}
}

uint32_t *radix_sort(const float *values, size_t count, uint32_t *keys, uint32_t *other)
{
	uint32_t places[DIGITS][BUCKETS];
	const size_t n = make_keys(values, count, keys, places);

	for (unsigned d = 0; n > 0 && d < DIGITS; d++) {
		uint32_t *from = keys;

		if (places[d][digit_of(keys[0], d)] == n)
			continue;
		counts_to_places(places[d]);
		for (size_t i = 0; i < n; i++)
			other[places[d][digit_of(from[i], d)]++] = from[i];
		keys = other;
		other = from;
	}
	return keys;
}
