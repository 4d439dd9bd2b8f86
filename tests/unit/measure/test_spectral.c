/* SPDX-License-Identifier: MIT */
/* test_spectral.c - measure/spectral.c: against a table, and the properties that its definition
 * promises. */
#include "measure/spectral.h"
#include "tests/unit/purified.h"

static bool purify(const float *x, size_t n, float *y, double keep)
{
	struct spectral *spectral = spectral_new(n, FLT_MAX);
	bool changed;

	assert_non_null(spectral);
	changed = spectral_purify(spectral, x, y, keep);
	spectral_free(spectral);
	return changed;
}

static void rows_agree_with_the_table(void **state)
{
	(void)state;
	check_golden("v1", purify, SPECTRAL_KEEP);
}

static void mean_and_deviation_are_kept_at_every_length_and_scale(void **state)
{
	(void)state;
	check_kept(purify, SPECTRAL_KEEP, 1.0, 0.0);
	check_kept(purify, SPECTRAL_KEEP, 0.02, -3.0);
	check_kept(purify, SPECTRAL_KEEP, 1e37, 0.0);
	check_kept(purify, SPECTRAL_KEEP, 1e-37, 0.0);
}

static void affine_map_of_a_row_gives_that_map_of_its_result(void **state)
{
	(void)state;
	check_affine(purify, SPECTRAL_KEEP);
}

static void rows_that_cannot_be_purified_stay_to_the_bit(void **state)
{
	(void)state;
	check_unchanged(purify, SPECTRAL_KEEP, 1.0);
}

static void a_row_may_be_purified_where_it_is(void **state)
{
	(void)state;
	check_in_place(purify, SPECTRAL_KEEP);
}

static void the_largest_floats_stay_finite(void **state)
{
	(void)state;
	check_largest(purify, SPECTRAL_KEEP);
}

/* One of two waves remains: the weaker has less than a hundredth of the energy. The correlation is
 * the root of the energy left. */
static void the_weaker_of_two_waves_is_removed(void **state)
{
	const size_t n = 3000;
	const double turn = 2.0 * acos(-1.0) / (double)n, root = sqrt(1.0 / (1.0 + 0.09 * 0.09));
	float *x = new_values(n), *y = new_values(n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(0.5 + sin(17.0 * turn * (double)i) +
			       0.09 * cos(400.0 * turn * (double)i));
	assert_true(purify(x, n, y, SPECTRAL_KEEP));
	assert_close(correlation(x, y, n), root, 1e-6, "correlation");
	for (size_t i = 0; i < n; i++)
		assert_close((double)y[i], 0.5 + sin(17.0 * turn * (double)i) / root, 1e-5, "wave");
	/* A wave of more than a hundredth stays. */
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(sin(17.0 * turn * (double)i) + 0.11 * cos(400.0 * turn * (double)i));
	purify(x, n, y, SPECTRAL_KEEP);
	assert_true(distance(x, y, n) < 1e-5);
	free(x);
	free(y);
}

static void lower_share_leaves_less_energy_but_at_least_the_share(void **state)
{
	static const double keeps[] = { 0.999, 0.99, 0.95, 0.9, 0.5, 0.1 };

	(void)state;
	for (size_t l = 0; l < ARRAY_LENGTH(purify_lengths); l++) {
		const size_t n = purify_lengths[l];
		float *x = bells(n, (uint32_t)n, 1.0, 0.0), *y = new_values(n);
		double before = 1.0;

		for (size_t i = 0; i < ARRAY_LENGTH(keeps); i++) {
			double kept;

			purify(x, n, y, keeps[i]);
			kept = correlation(x, y, n);
			assert_true(kept <= before + 1e-7);
			assert_true(kept * kept >= keeps[i] - 1e-6);
			assert_close(distance(x, y, n) * distance(x, y, n), 2.0 - 2.0 * kept, 1e-6,
				     "distance");
			before = kept;
		}
		/* The rest of many frequencies is near the bound. */
		assert_true(n < 512 || before * before < 0.1 + 10.0 / (double)n);
		free(x);
		free(y);
	}
}

static void row_that_would_become_empty_is_unchanged(void **state)
{
	float *x = bells(500, 1, 1.0, 0.0);

	(void)state;
	check_same(purify, x, 500, 0.0);
	check_same(purify, x, 500, -1.0);
	check_same(purify, x, 499, 0.0);
	free(x);
}

/* Some results would be a little larger than all values of their rows. */
static void row_that_would_overflow_its_type_is_unchanged(void **state)
{
	struct spectral *spectral = spectral_new(64, 65504.0f);
	size_t changed = 0, same = 0;
	float x[64], y[64];

	(void)state;
	assert_non_null(spectral);
	for (uint32_t seed = 1; seed <= 200; seed++) {
		uint32_t random = seed;

		for (size_t i = 0; i < 64; i++)
			x[i] = lcg(&random) < 0.5 ? 65504.0f : (float)lcg(&random) * 65504.0f;
		if (spectral_purify(spectral, x, y, SPECTRAL_KEEP))
			changed++;
		else
			same += memcmp(x, y, sizeof(x)) == 0;
		for (size_t i = 0; i < 64; i++)
			assert_true(fabsf(y[i]) <= 65504.0f);
	}
	assert_int_equal(changed + same, 200);
	assert_true(same > 20);
	/* Far below the limit the row changes. */
	for (size_t i = 0; i < 64; i++)
		x[i] /= 65536.0f;
	assert_true(spectral_purify(spectral, x, y, SPECTRAL_KEEP));
	spectral_free(spectral);
}

static void a_context_serves_row_after_row(void **state)
{
	const size_t n = 2310;
	struct spectral *spectral = spectral_new(n, FLT_MAX);
	float *first = bells(n, 1, 1.0, 0.0), *second = bells(n, 2, 5.0, 1.0);
	float *alone = new_values(n), *y = new_values(n);

	(void)state;
	assert_non_null(spectral);
	purify(first, n, alone, SPECTRAL_KEEP);
	assert_true(spectral_purify(spectral, second, y, SPECTRAL_KEEP));
	assert_true(spectral_purify(spectral, first, y, SPECTRAL_KEEP));
	assert_memory_equal(y, alone, n * sizeof(*y));
	spectral_free(spectral);
	free(first);
	free(second);
	free(alone);
	free(y);
}

static void long_rows_of_awkward_lengths_take_no_longer_than_others(void **state)
{
	static const size_t lengths[] = { 100003, 2 * 50021, 3 * 32771 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		const size_t n = lengths[i];
		float *x = bells(n, 5, 1.0, 0.0), *y = new_values(n);
		double kept;

		assert_true(purify(x, n, y, SPECTRAL_KEEP));
		kept = correlation(x, y, n);
		assert_true(kept * kept >= 0.99 - 1e-6 && kept * kept < 0.9901);
		free(x);
		free(y);
	}
}

static void without_memory_there_is_no_context(void **state)
{
	static const size_t lengths[] = { 3, 64, 63, 2 * 211 };

	(void)state;
	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
		for (uint64_t k = 1;; k++) {
			struct spectral *spectral;
			bool failed;

			allocation_fails(k);
			spectral = spectral_new(lengths[i], FLT_MAX);
			failed = allocation_failed();
			assert_int_equal(!spectral, failed);
			spectral_free(spectral);
			if (!failed)
				break;
		}
	assert_null(spectral_new(SIZE_MAX, FLT_MAX));
}

UNIT_MAIN(NULL, NULL)
