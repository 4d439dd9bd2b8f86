/* SPDX-License-Identifier: MIT */
/* tail.c - see tail.h. A key has 31 bits: a coarse digit (the exponent and three bits) and four
 * digits of five bits. Energies are summed by coarse digit. For the few with the digit in which the
 * budget ends, the next digit is processed the same way, until one key is left. */
#include "tail.h"

#include <float.h>

#define COARSE_BITS    11
#define COARSE_SHIFT   20
#define COARSE_BUCKETS (1u << COARSE_BITS)
#define FINE_BITS      5
#define FINE_BUCKETS   (1u << FINE_BITS)

static uint32_t key_of(float energy)
{
	uint32_t key;

	memcpy(&key, &energy, sizeof(key));
	return key;
}

static float energy_of(uint32_t key)
{
	float energy;

	memcpy(&energy, &key, sizeof(energy));
	return energy;
}

static uint32_t coarse_digit_of(double energy)
{
	return energy < (double)FLT_MAX ? key_of((float)energy) >> COARSE_SHIFT
					: COARSE_BUCKETS - 1;
}

/* The first of the buckets first to last that exceeds the budget, or last + 1. The buckets before
 * it are subtracted from the budget. */
static uint32_t spend(const double *sums, uint32_t first, uint32_t last, double *budget)
{
	uint32_t i = first;

	while (i <= last && sums[i] <= *budget)
		*budget -= sums[i++];
	return i;
}

/* Energies below the budget divided by their number fit the budget, so all buckets up to two digits
 * below share one sum. */
static uint32_t find_coarse_digit(const float *energies, size_t count, double total, double *budget)
{
	const double most = *budget < total ? *budget : total;
	const uint32_t share = coarse_digit_of(most / (double)count);
	const uint32_t first = share < 2 ? 0 : share - 2, last = coarse_digit_of(total);
	double sums[COARSE_BUCKETS];

	memset(sums + first, 0, (last - first + 1) * sizeof(*sums));
	for (size_t i = 0; i < count; i++) {
		const uint32_t digit = key_of(energies[i]) >> COARSE_SHIFT;

		sums[digit < first ? first : digit] += (double)energies[i];
	}
	return spend(sums, first, last, budget);
}

/* Collect the keys with this coarse digit. Returns their number. */
static size_t collect(const float *energies, size_t count, uint32_t digit, uint32_t *keys)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t key = key_of(energies[i]);

		keys[n] = key;
		n += key >> COARSE_SHIFT == digit;
	}
	return n;
}

/* Append to `before` the digit, at position shift, in which the budget ends. */
static uint32_t find_digit(const uint32_t *keys, size_t count, double *budget, uint32_t before,
			   unsigned shift)
{
	double sums[FINE_BUCKETS] = { 0 };

	for (size_t i = 0; i < count; i++)
		if (keys[i] >> (shift + FINE_BITS) == before)
			sums[keys[i] >> shift & (FINE_BUCKETS - 1)] += (double)energy_of(keys[i]);
	return (before << FINE_BITS) + spend(sums, 0, FINE_BUCKETS - 1, budget);
}

struct energy_tail tail_find(const float *energies, size_t count, double total, double budget,
			     uint32_t *scratch)
{
	struct energy_tail tail = { 0, count };
	double energy;
	size_t n;

	tail.key = find_coarse_digit(energies, count, total, &budget);
	n = collect(energies, count, tail.key, scratch);
	for (unsigned shift = COARSE_SHIFT; shift > 0; shift -= FINE_BITS)
		tail.key = find_digit(scratch, n, &budget, tail.key, shift - FINE_BITS);
	energy = (double)energy_of(tail.key);
	for (size_t i = count; i-- > 0 && energy <= budget;)
		if (key_of(energies[i]) == tail.key) {
			budget -= energy;
			tail.from = i;
		}
	return tail;
}
