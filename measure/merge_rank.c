/* SPDX-License-Identifier: MIT */
/* merge_rank.c - see merge_internal.h: a stable radix sort of element numbers by the magnitudes'
 * bits. A digit equal in all keys needs no pass. */
#include "merge_internal.h"

#define DIGITS	   3
#define DIGIT_BITS 11
#define BUCKETS	   (1u << DIGIT_BITS)

static uint32_t digit_of(uint32_t key, unsigned digit)
{
	return key >> digit * DIGIT_BITS & (BUCKETS - 1);
}

static uint32_t key_of(float value, float base)
{
	const float difference = value - base;
	uint32_t bits;

	memcpy(&bits, &difference, sizeof(bits));
	return bits & INT32_MAX;
}

/* Turn the counts of a digit into the place of each bucket's first element. */
static void counts_to_places(uint32_t counts[BUCKETS])
{
	uint32_t place = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		const uint32_t count = counts[i];

		counts[i] = place;
		place += count;
	}
}

/* ranks holds the keys until the order is known. */
void merge_ranks(const float *values, const float *base, size_t n, uint32_t *ranks,
		 uint32_t *scratch)
{
	uint32_t places[DIGITS][BUCKETS] = { 0 };
	uint32_t *from = scratch, *to = scratch + n;

	for (size_t i = 0; i < n; i++) {
		ranks[i] = key_of(values[i], base[i]);
		from[i] = (uint32_t)i;
		for (unsigned d = 0; d < DIGITS; d++)
			places[d][digit_of(ranks[i], d)]++;
	}
	for (unsigned d = 0; n > 0 && d < DIGITS; d++) {
		uint32_t *const sorted = to;

		if (places[d][digit_of(ranks[0], d)] == n)
			continue;
		counts_to_places(places[d]);
		for (size_t i = 0; i < n; i++)
			sorted[places[d][digit_of(ranks[from[i]], d)]++] = from[i];
		to = from;
		from = sorted;
	}
	for (size_t i = 0; i < n; i++)
		ranks[from[i]] = (uint32_t)i;
}
