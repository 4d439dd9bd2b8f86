/* SPDX-License-Identifier: MIT */
/* test_zmeasure.c - measure/zmeasure.c: against independent tables (zinputs.h), closed forms,
 * invariances, and at its edges. */
#include "measure/sample.h"
#include "measure/zmeasure.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>

#define GUARD 0xdeadbeefu

static bool near(double value, double expected, double tolerance)
{
	const double scale = fabs(expected) > 1.0 ? fabs(expected) : 1.0;

	return fabs(value - expected) <= tolerance * scale;
}

static bool near_all(const double *values, const double *expected, size_t n, double tolerance)
{
	for (size_t i = 0; i < n; i++)
		if (!near(values[i], expected[i], tolerance))
			return false;
	return true;
}

static void assert_near(double value, double expected, double tolerance)
{
	if (!near(value, expected, tolerance))
		fail_msg("%.12g, expected %.12g", value, expected);
}

/* Measure all n values, and check that the scratch memory suffices and that the values stay. */
static struct zmeasure measure(const float *values, size_t n)
{
	const size_t scratch_size = zmeasure_scratch(n);
	uint8_t *scratch = malloc(scratch_size + sizeof(uint32_t));
	float *before = new_values(n + 1);
	const uint32_t guard = GUARD;
	struct zmeasure result;

	assert_non_null(scratch);
	memcpy(scratch + scratch_size, &guard, sizeof(guard));
	memcpy(before, values, n * sizeof(*values));
	memset(&result, 0xa5, sizeof(result));
	zmeasure(values, n, n, scratch, &result);
	assert_memory_equal(scratch + scratch_size, &guard, sizeof(guard));
	assert_memory_equal(before, values, n * sizeof(*values));
	free(scratch);
	free(before);
	return result;
}

/* Measure the sample like a reader of the tensor. */
static struct zmeasure measure_sample(const float *values, size_t n)
{
	struct sample sample;
	struct span span;
	struct zmeasure result;
	size_t taken = 0;
	float *looked_at;

	sample_init(&sample, n, SAMPLE_DEFAULT);
	looked_at = new_values((size_t)sample_most(&sample));
	for (; sample_next(&sample, &span); taken += span.count)
		memcpy(looked_at + taken, values + span.start, span.count * sizeof(float));
	result = measure(looked_at, taken);
	result.elements = n;
	free(looked_at);
	return result;
}

static void check_row(const struct zrow *row, const struct zmeasure *z, double tolerance)
{
	const double numbers[] = { z->entropy,	  z->kurtosis,	z->spacing, z->s_entropy,
				   z->s_kurtosis, z->s_spacing, z->signal,  z->theta };

	if (!near_all(numbers, row->numbers, ARRAY_LENGTH(numbers), tolerance) ||
	    !near(z->magnitude, row->magnitude, tolerance))
		fail_msg("%s of %llu: entropy %.12g, kurtosis %.12g, spacing %.12g, theta %.12g, "
			 "magnitude %.12g",
			 row->name, row->n, z->entropy, z->kurtosis, z->spacing, z->theta,
			 z->magnitude);
	assert_string_equal(zmeasure_status_name(z->status), row->status);
	assert_int_equal(z->elements, row->n);
	assert_int_equal(z->sampled, row->sampled);
	assert_int_equal(z->nonfinite, row->nonfinite);
	assert_int_equal(z->has_magnitude, row->has_magnitude);
}

static unsigned check_table(const char *path, make_input *make, double tolerance)
{
	FILE *table = ztable_open(path);
	struct zrow row;
	unsigned rows = 0;

	for (; ztable_next(table, &row); rows++) {
		float *values = make(row.name, to_size(row.n));
		const struct zmeasure z = measure_sample(values, to_size(row.n));

		check_row(&row, &z, tolerance);
		free(values);
	}
	fclose(table);
	return rows;
}

/* The table has nine decimals. */
static void measures_agree_with_golden_table(void **state)
{
	(void)state;
	assert_int_equal(check_table("tests/unit/golden_z.tsv", golden_input, 1e-8), 19);
}

static void random_inputs_measure_as_in_numpy(void **state)
{
	(void)state;
	assert_int_equal(check_table("tests/unit/random_z.tsv", random_input, 1e-9), 68);
}

static struct zmeasure measure_golden(const char *name, size_t n)
{
	float *values = golden_input(name, n);
	const struct zmeasure z = measure(values, n);

	free(values);
	return z;
}

/* Kurtosis of the discrete uniform law, and of one value among n. */
static void closed_forms_hold(void **state)
{
	const double n = 4096.0;
	struct zmeasure z = measure_golden("ramp", 4096);

	(void)state;
	assert_near(z.kurtosis, -6.0 * (n * n + 1.0) / (5.0 * (n * n - 1.0)), 1e-12);
	assert_near(z.magnitude, 0.5, 1e-4);
	z = measure_golden("alt_pm1", 4096);
	assert_near(z.kurtosis, -2.0, 1e-12);
	assert_near(z.magnitude, -0.5, 1e-12);
	z = measure_golden("sine", 65536);
	assert_near(z.kurtosis, -1.5, 1e-7);
	z = measure_golden("onehot", 4096);
	assert_near(z.kurtosis, n * n / (n - 1.0) - 6.0, 1e-12);
	assert_near(sin(z.theta * acos(-1.0) / 180.0), 1.0 / sqrt(3.0), 1e-7);
}

/* The numbers have 12 bits, so that scaling and shifting round nothing. */
static void theta_does_not_change_under_affine_maps(void **state)
{
	static const float maps[][2] = { { 1, 1 },    { -1, 0 },       { 3, -7 },
					 { -5, 100 }, { 0x1p-90f, 0 }, { -0x1p100f, 0 } };
	float *values = new_values(50000), *mapped = new_values(50000);
	uint32_t random = 11;
	struct zmeasure z, other;

	(void)state;
	for (size_t i = 0; i < 50000; i++)
		values[i] = (float)floor(bell(&random) * 512.0) / 512.0f;
	z = measure(values, 50000);
	for (size_t k = 0; k < ARRAY_LENGTH(maps); k++) {
		for (size_t i = 0; i < 50000; i++)
			mapped[i] = values[i] * maps[k][0] + maps[k][1];
		other = measure(mapped, 50000);
		assert_near(other.entropy, z.entropy, 1e-11);
		assert_near(other.kurtosis, z.kurtosis, 1e-11);
		assert_near(other.spacing, z.spacing, 1e-11);
		assert_near(other.theta, z.theta, 1e-11);
		assert_near(other.magnitude, z.magnitude, 1e-11);
	}
	free(values);
	free(mapped);
}

static void theta_does_not_change_under_permutation(void **state)
{
	float *values = random_input("trend-5", 65536);
	struct zmeasure z = measure(values, 65536), other;

	(void)state;
	shuffle(values, 65536);
	other = measure(values, 65536);
	assert_near(other.entropy, z.entropy, 1e-12);
	assert_near(other.kurtosis, z.kurtosis, 1e-11);
	assert_near(other.spacing, z.spacing, 1e-12);
	assert_near(other.theta, z.theta, 1e-11);
	assert_true(z.magnitude > 0.3 && fabs(other.magnitude) < 0.05);
	free(values);
}

static enum zmeasure_status status_of(const float *values, size_t n)
{
	return measure(values, n).status;
}

static void assert_all_zero(const struct zmeasure *z)
{
	assert_true(z->entropy == 0.0 && z->kurtosis == 0.0 && z->spacing == 0.0);
	assert_true(z->s_entropy == 0.0 && z->s_kurtosis == 0.0 && z->s_spacing == 0.0);
	assert_true(z->signal == 0.0 && z->theta == 0.0 && z->magnitude == 0.0);
	assert_false(z->has_magnitude);
}

static void unmeasured_values_have_a_status_and_zeros(void **state)
{
	static const float equal[10] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
	static const float zeros[10] = { 0.0f, -0.0f, 0.0f, -0.0f };
	static const float few[7] = { 1, 2, 3, 4, 5, 6, 7 };
	static const float few_finite[9] = { 1, 2, 3, (float)NAN, 4, 5, 6, (float)INFINITY, 7 };
	struct zmeasure z;

	(void)state;
	for (size_t n = 1; n <= 10; n++) {
		z = measure(equal, n);
		assert_int_equal(z.status, ZMEASURE_CONSTANT);
		assert_all_zero(&z);
		z = measure(zeros, n);
		assert_int_equal(z.status, ZMEASURE_ZERO);
		assert_all_zero(&z);
	}
	for (size_t n = 2; n <= 7; n++) {
		z = measure(few, n);
		assert_int_equal(z.status, ZMEASURE_SHORT);
		assert_all_zero(&z);
	}
	z = measure(few_finite, 9);
	assert_int_equal(z.status, ZMEASURE_SHORT);
	assert_int_equal(z.sampled, 9);
	assert_int_equal(z.nonfinite, 2);
	assert_all_zero(&z);
}

static void no_finite_value_has_no_theta(void **state)
{
	static const float none[] = { (float)NAN, -(float)INFINITY, (float)INFINITY, -(float)NAN };
	struct zmeasure z;

	(void)state;
	for (size_t n = 0; n <= ARRAY_LENGTH(none); n++) {
		z = measure(none, n);
		assert_int_equal(z.status, ZMEASURE_NONFINITE);
		assert_int_equal(z.nonfinite, n);
		assert_true(isnan(z.theta) && isnan(z.signal));
		assert_false(z.has_magnitude);
	}
}

static void nonfinite_values_among_equal_ones_leave_them_constant(void **state)
{
	static const float values[] = { (float)NAN, 3, 3, (float)INFINITY, 3, 3, 3, 3, 3, 3 };

	(void)state;
	assert_int_equal(status_of(values, ARRAY_LENGTH(values)), ZMEASURE_CONSTANT);
	assert_int_equal(measure(values, ARRAY_LENGTH(values)).nonfinite, 2);
}

/* Among 2000 values the order statistics at 0.1 % and 99.9 % are the second and the last but
 * one. */
static void a_spike_begins_where_all_but_the_trimmed_are_equal(void **state)
{
	float values[2000];

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		values[i] = 1.0f;
	values[0] = 0.0f;
	values[1000] = 2.0f;
	assert_int_equal(status_of(values, 2000), ZMEASURE_SPIKE);
	values[7] = 0.5f;
	assert_int_equal(status_of(values, 2000), ZMEASURE_OK);
	values[7] = 1.5f;
	assert_int_equal(status_of(values, 2000), ZMEASURE_OK);
}

static void a_spike_is_at_most_a_third_of_signal(void **state)
{
	const struct zmeasure z = measure_golden("onehot", 4096);

	(void)state;
	assert_int_equal(z.status, ZMEASURE_SPIKE);
	assert_true(z.entropy == 0.0 && z.spacing == 0.0);
	assert_true(z.s_entropy == 0.0 && z.s_spacing == 0.0);
	assert_true(z.theta < 35.2644 && z.theta > 35.26);
}

static void low_n_counts_finite_values(void **state)
{
	float *values = random_input("bell-9", 512);

	(void)state;
	assert_false(measure(values, 512).low_n);
	assert_true(measure(values, 511).low_n);
	values[100] = (float)NAN;
	assert_true(measure(values, 512).low_n);
	free(values);
}

/* 64 coefficients at two scales take 128 values. Pieces have 256, so an odd one is not used. */
static void a_magnitude_takes_two_scales(void **state)
{
	float *values = random_input("bell-10", 400);

	(void)state;
	assert_false(measure(values, 127).has_magnitude);
	assert_true(measure(values, 128).has_magnitude);
	assert_true(measure(values, 383).has_magnitude);
	free(values);
}

static void both_zeros_are_one_value(void **state)
{
	float values[1000];
	struct zmeasure z, other;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		values[i] = i % 4 == 0 ? (float)i : 0.0f;
	z = measure(values, 1000);
	for (size_t i = 0; i < 1000; i += 2)
		values[i] = values[i] == 0.0f ? -0.0f : values[i];
	other = measure(values, 1000);
	assert_memory_equal(&z, &other, sizeof(z));
}

/* Fourth powers of the largest and the smallest floats are still doubles. */
static void the_range_of_floats_is_no_limit(void **state)
{
	float values[1024];
	struct zmeasure z;

	(void)state;
	for (size_t i = 0; i < 1024; i++)
		values[i] = i % 2 ? FLT_MAX : -FLT_MAX;
	z = measure(values, 1024);
	assert_near(z.kurtosis, -2.0, 1e-12);
	assert_near(z.magnitude, -0.5, 1e-12);
	for (size_t i = 0; i < 1024; i++)
		values[i] = i % 2 ? 0x1p-149f : 0.0f;
	z = measure(values, 1024);
	assert_near(z.kurtosis, -2.0, 1e-12);
	assert_near(z.theta, measure_golden("alt_pm1", 1024).theta, 1e-12);
}

static void numbers_stay_in_their_ranges(void **state)
{
	static const char *const kinds[] = { "uniform-1", "heavy-2", "coarse-3", "sparse-4",
					     "skew-5",	  "huge-6",  "outlier-7" };

	(void)state;
	for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
		float *values = random_input(kinds[k], 1500);

		for (size_t n = 8; n < 1500; n += n / 5) {
			const struct zmeasure z = measure(values, n);

			assert_true(z.entropy >= 0.0 && z.entropy <= 1.0 + 1e-12);
			assert_true(z.kurtosis >= -2.0 - 1e-12 && z.spacing >= 0.0);
			assert_true(z.signal >= 0.0 && z.signal <= 1.0);
			assert_true(z.theta >= 0.0 && z.theta <= 90.0);
			assert_true(fabs(z.magnitude) <= 0.5);
		}
		free(values);
	}
}

/* Compare with the textbook formulas. */
static void assert_described(const float *values, size_t n)
{
	const struct zmeasure z = measure(values, n);
	long double sum = 0, squares = 0, finite = 0, zeros = 0, mean;
	double min = (double)INFINITY, max = -min;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i])) {
			finite++;
			zeros += values[i] == 0.0f;
			sum += (long double)values[i];
			min = fmin(min, (double)values[i]);
			max = fmax(max, (double)values[i]);
		}
	mean = sum / finite;
	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			squares +=
				((long double)values[i] - mean) * ((long double)values[i] - mean);
	assert_true(z.min <= min && z.min >= min && z.max <= max && z.max >= max);
	assert_near(z.mean, (double)mean, 1e-12);
	assert_near(z.deviation, (double)sqrtl(squares / finite), 1e-12);
	assert_near(z.zeros, (double)(zeros / finite), 1e-15);
}

static void description_agrees_with_textbook_formulas(void **state)
{
	static const char *const kinds[] = { "uniform-1", "heavy-2", "coarse-3", "sparse-4",
					     "skew-5",	  "trend-6", "outlier-7" };

	(void)state;
	for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
		float *values = random_input(kinds[k], 5000);

		for (size_t n = 1; n <= 5000; n += 1 + n / 2)
			assert_described(values, n);
		for (size_t i = 0; i < 5000; i += 7)
			values[i] = i % 2 ? 0.0f : (float)INFINITY;
		values[1] = (float)NAN;
		for (size_t n = 3; n <= 5000; n += 1 + n / 2)
			assert_described(values, n);
		free(values);
	}
}

static void values_without_indicators_are_described(void **state)
{
	static const float third[3] = { 1 / 3.0f, 1 / 3.0f, 1 / 3.0f };
	static const float few[4] = { -1, 0, -0.0f, 1 }, zeros[2] = { -0.0f, -0.0f };
	static const float none[1] = { (float)NAN };
	struct zmeasure z = measure(third, 3);

	(void)state;
	assert_true(z.mean <= z.min && z.mean >= z.max && z.max > 0.3);
	assert_near(z.deviation, 0, 0);
	assert_near(z.zeros, 0, 0);
	z = measure(few, 4);
	assert_near(z.min, -1, 0);
	assert_near(z.max, 1, 0);
	assert_near(z.deviation, sqrt(0.5), 1e-15);
	assert_near(z.zeros, 0.5, 0);
	z = measure(zeros, 2);
	assert_near(z.zeros, 1, 0);
	assert_false(signbit(z.min) || signbit(z.max) || signbit(z.mean));
	z = measure(none, 1);
	assert_true(isnan(z.min) && isnan(z.max) && isnan(z.mean) && isnan(z.deviation) &&
		    isnan(z.zeros));
}

UNIT_MAIN(NULL, NULL)
