/* SPDX-License-Identifier: MIT */
/* test_fractal.c - measure/fractal.c: against a table, a plain implementation of the definition,
 * and the properties that the definition promises. */
#include "measure/fractal.h"
#include "tests/unit/purified.h"

static bool purify(const float *x, size_t n, float *y, double strength)
{
	struct fractal *fractal = fractal_new(n, FLT_MAX);
	bool changed;

	assert_non_null(fractal);
	changed = fractal_purify(fractal, x, y, (float)strength);
	fractal_free(fractal);
	return changed;
}

static const double usual = (double)FRACTAL_STRENGTH;

static void rows_agree_with_the_table(void **state)
{
	(void)state;
	check_golden("v2", purify, usual);
}

static void mean_and_deviation_are_kept_at_every_length_and_scale(void **state)
{
	(void)state;
	check_kept(purify, usual, 1.0, 0.0);
	check_kept(purify, usual, 0.02, -3.0);
	check_kept(purify, usual, 1e37, 0.0);
	check_kept(purify, usual, 1e-37, 0.0);
}

static void affine_map_of_a_row_gives_that_map_of_its_result(void **state)
{
	(void)state;
	check_affine(purify, usual);
}

static void rows_that_cannot_be_purified_stay_to_the_bit(void **state)
{
	(void)state;
	check_unchanged(purify, usual, 0.0);
}

static void a_row_may_be_purified_where_it_is(void **state)
{
	(void)state;
	check_in_place(purify, usual);
}

static void the_largest_floats_stay_finite(void **state)
{
	(void)state;
	check_largest(purify, usual);
}

/* In the middle of 256 values a step is a detail of the coarsest scale, with support from one side
 * only. */
static void a_step_that_several_scales_see_stays_to_the_bit(void **state)
{
	float x[1024];

	(void)state;
	for (size_t edge = 1; edge < ARRAY_LENGTH(x); edge++) {
		if (edge % 256 >= 95 && edge % 256 <= 161)
			continue;
		for (size_t i = 0; i < ARRAY_LENGTH(x); i++)
			x[i] = i < edge ? 0.125f : -3.7f;
		check_same(purify, x, ARRAY_LENGTH(x), usual);
	}
}

/* The length needs no padding, beside which the mean would be a small step. */
static void a_spike_stays_to_the_bit(void **state)
{
	float x[1024] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(x); i++) {
		x[i] = 5.0f;
		check_same(purify, x, ARRAY_LENGTH(x), usual);
		x[i] = 0.0f;
	}
}

/* An alternation has no support, but this one has less than 1e-24 of the energy. */
static void rounding_residue_is_unchanged(void **state)
{
	float x[1024] = { [100] = 1.0f, [900] = -1.0f };

	(void)state;
	for (size_t i = 0; i < 64; i++)
		x[512 + i] = i % 2 ? 1e-15f : -1e-15f;
	check_same(purify, x, ARRAY_LENGTH(x), usual);
	for (size_t i = 0; i < 64; i++)
		x[512 + i] *= 1e5f;
	assert_true(purify(x, ARRAY_LENGTH(x), (float[1024]){ 0 }, usual));
}

static void a_slow_wave_stays_to_the_bit(void **state)
{
	float x[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(x); i++)
		x[i] = (float)sin(2.0 * acos(-1.0) * 8.0 * (double)i / 4096.0);
	check_same(purify, x, ARRAY_LENGTH(x), usual);
}

/* One level of the definition, in double precision and without the module's shortcuts. details[j]
 * has level j + 1. */
static void attenuate_level(double **energies, double *details, size_t levels, size_t j,
			    size_t count, double strength, double total)
{
	for (size_t k = 0; k < count; k++) {
		const double energy = energies[j][k];
		double support = 0.0;

		if (j + 1 < levels)
			support = energies[j + 1][k / 2];
		if (j > 0)
			support = fmax(support,
				       0.5 * (energies[j - 1][2 * k] + energies[j - 1][2 * k + 1]));
		if (energy > 1e-24 * total && support < energy / 8.0)
			details[k] *= 1.0 - strength * (1.0 - sqrt(support / (energy / 8.0)));
	}
}

/* Purify a whole row of centred values, whose number is a power of two. */
static void purify_plainly(double *values, size_t count, size_t levels, double strength)
{
	double *details[FRACTAL_LEVELS], *energies[FRACTAL_LEVELS], total = 0.0;

	for (size_t i = 0; i < count; i++)
		total += values[i] * values[i];
	for (size_t j = 0; j < levels; j++) {
		const size_t n = count >> (j + 1);

		details[j] = calloc(n, sizeof(double));
		energies[j] = calloc(n, sizeof(double));
		assert_true(details[j] && energies[j]);
		for (size_t k = 0; k < n; k++) {
			const double a = values[2 * k], b = values[2 * k + 1];

			details[j][k] = (a - b) * sqrt(0.5);
			energies[j][k] = details[j][k] * details[j][k];
			values[k] = (a + b) * sqrt(0.5);
		}
	}
	for (size_t j = 0; j < levels; j++)
		attenuate_level(energies, details[j], levels, j, count >> (j + 1), strength, total);
	for (size_t j = levels; j-- > 0;)
		for (size_t k = count >> (j + 1); k-- > 0;) {
			const double a = values[k], d = details[j][k];

			values[2 * k] = (a + d) * sqrt(0.5);
			values[2 * k + 1] = (a - d) * sqrt(0.5);
		}
	for (size_t j = 0; j < levels; j++) {
		free(details[j]);
		free(energies[j]);
	}
}

static void check_definition(const float *x, size_t n, double strength)
{
	size_t count = 1, levels = 0;
	double *plain, mean = mean_of(x, n), sum = 0.0, squares = 0.0;
	float *y = new_values(n);

	for (; count < n; count *= 2)
		levels += levels < FRACTAL_LEVELS;
	plain = calloc(count, sizeof(*plain));
	assert_non_null(plain);
	for (size_t i = 0; i < n; i++)
		plain[i] = (double)x[i] - mean;
	purify_plainly(plain, count, levels, strength);
	for (size_t i = 0; i < n; i++)
		sum += plain[i];
	for (size_t i = 0; i < n; i++)
		squares += (plain[i] - sum / (double)n) * (plain[i] - sum / (double)n);
	purify(x, n, y, strength);
	for (size_t i = 0; i < n; i++)
		assert_close((double)y[i],
			     (plain[i] - sum / (double)n) * deviation(x, n) /
					     sqrt(squares / (double)n) +
				     mean,
			     2e-6, "definition");
	free(plain);
	free(y);
}

static void every_length_agrees_with_the_definition(void **state)
{
	(void)state;
	for (size_t n = 4; n < 700; n += n < 40 ? 1 : 13) {
		float *x = bells(n, (uint32_t)n, 1.0, 0.0);

		check_definition(x, n, usual);
		check_definition(x, n, 1.0);
		free(x);
	}
}

/* Some results would be a little larger than all values of their rows. */
static void row_that_would_overflow_its_type_is_unchanged(void **state)
{
	struct fractal *fractal = fractal_new(64, 65504.0f);
	size_t changed = 0, same = 0;
	float x[64], y[64];

	(void)state;
	assert_non_null(fractal);
	for (uint32_t seed = 1; seed <= 200; seed++) {
		uint32_t random = seed;

		for (size_t i = 0; i < 64; i++)
			x[i] = lcg(&random) < 0.5 ? 65504.0f : (float)lcg(&random) * 65504.0f;
		if (fractal_purify(fractal, x, y, FRACTAL_STRENGTH))
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
	assert_true(fractal_purify(fractal, x, y, FRACTAL_STRENGTH));
	fractal_free(fractal);
}

static void a_context_serves_row_after_row(void **state)
{
	const size_t n = 700;
	struct fractal *fractal = fractal_new(n, FLT_MAX);
	float *first = bells(n, 1, 1.0, 0.0), *second = bells(n, 2, 5.0, 1.0);
	float *alone = new_values(n), *y = new_values(n);

	(void)state;
	assert_non_null(fractal);
	purify(first, n, alone, usual);
	assert_true(fractal_purify(fractal, second, y, FRACTAL_STRENGTH));
	assert_true(fractal_purify(fractal, first, y, FRACTAL_STRENGTH));
	assert_memory_equal(y, alone, n * sizeof(*y));
	fractal_free(fractal);
	free(first);
	free(second);
	free(alone);
	free(y);
}

static void without_memory_there_is_no_context(void **state)
{
	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1; k <= 2; k++) {
		allocation_fails(k);
		assert_null(fractal_new(4096, FLT_MAX));
		assert_true(allocation_failed());
	}
	assert_null(fractal_new(SIZE_MAX, FLT_MAX));
	assert_null(fractal_new(SIZE_MAX / 2, FLT_MAX));
}

UNIT_MAIN(NULL, NULL)
