/* SPDX-License-Identifier: MIT */
/* test_tail.c - measure/tail.c: against sorting. The energies are whole numbers times a power of
 * two, so sums are exact in any order. */
#include "measure/tail.h"
#include "tests/unit/unit.h"

struct entry {
	float energy;
	size_t place;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->energy != y->energy)
		return x->energy > y->energy ? 1 : -1;
	return (x->place < y->place) - (x->place > y->place);
}

static double total_of(const float *energies, size_t n)
{
	double total = 0.0;

	for (size_t i = 0; i < n; i++)
		total += (double)energies[i];
	return total;
}

static void check_tail(const float *energies, size_t n, double budget)
{
	struct entry *entries = malloc(n * sizeof(*entries));
	const double total = total_of(energies, n);
	uint32_t *scratch = malloc(n * sizeof(*scratch));
	const struct energy_tail tail = tail_find(energies, n, total, budget, scratch);
	double sum = 0.0;
	bool within = true;

	assert_true(entries && scratch);
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct entry){ energies[i], i };
	qsort(entries, n, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < n; i++) {
		const struct entry e = entries[i];

		sum += (double)e.energy;
		within &= sum <= budget;
		assert_int_equal(tail_has(&tail, e.energy, e.place), within);
	}
	free(entries);
	free(scratch);
}

/* Check n energies of up to most different whole numbers, with exponents that differ by spread. */
static void check_random(size_t n, uint32_t most, unsigned spread, uint32_t seed)
{
	static const double parts[] = { 1e-9, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.999999, 1.0, 2.0 };
	float *energies = malloc(n * sizeof(*energies));
	double total;

	assert_non_null(energies);
	for (size_t i = 0; i < n; i++) {
		uint32_t number;

		seed = 1664525u * seed + 1013904223u;
		number = (seed >> 8) % most;
		seed = 1664525u * seed + 1013904223u;
		energies[i] = (float)(number << (seed >> 16) % spread);
	}
	total = total_of(energies, n);
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		if (total > 0.0)
			check_tail(energies, n, parts[i] * total);
	/* The limit is exactly the sum of some of them. */
	for (size_t i = 1; i < n && i < 20; i++)
		if (total_of(energies, i) > 0.0)
			check_tail(energies, n, total_of(energies, i));
	free(energies);
}

static void tail_equals_that_of_a_sort(void **state)
{
	static const uint32_t most[] = { 2, 3, 10, 1000, 1 << 16 };
	static const unsigned spreads[] = { 1, 3, 16 };

	(void)state;
	for (size_t n = 1; n < 3000; n = n * 2 + n / 3 + 1)
		for (size_t m = 0; m < ARRAY_LENGTH(most); m++)
			for (size_t s = 0; s < ARRAY_LENGTH(spreads); s++)
				check_random(n, most[m], spreads[s], (uint32_t)(n + m));
}

static void last_of_equal_energies_are_taken(void **state)
{
	uint32_t scratch[100];
	float energies[100];
	struct energy_tail tail;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(energies); i++)
		energies[i] = 1.0f;
	tail = tail_find(energies, ARRAY_LENGTH(energies), 100.0, 7.5, scratch);
	for (size_t i = 0; i < ARRAY_LENGTH(energies); i++)
		assert_int_equal(tail_has(&tail, energies[i], i), i >= 93);
}

/* One energy is nearly the whole sum, from the smallest to the largest exponents. */
static void energies_may_differ_by_any_factor(void **state)
{
	float energies[] = { 0x1p-149f, 0x1p-149f, 1e-40f, 0x1p-126f, 1e-20f, 1.0f, 1e20f, 3e38f };

	(void)state;
	check_tail(energies, ARRAY_LENGTH(energies), 0x1p-149);
	check_tail(energies, ARRAY_LENGTH(energies), 1e-39);
	check_tail(energies, ARRAY_LENGTH(energies), 1e-30);
	check_tail(energies, ARRAY_LENGTH(energies), 2.0);
	check_tail(energies, ARRAY_LENGTH(energies), 3e36);
}

UNIT_MAIN(NULL, NULL)
