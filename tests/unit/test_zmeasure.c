/* SPDX-License-Identifier: MIT */
/* test_zmeasure.c - measure/zmeasure.c against golden values, closed forms and invariances. The
 * golden values are those of an independent implementation in Python, for inputs made here. */
#include "unit.h"
#include "measure/sample.h"
#include "measure/zmeasure.h"

#include <math.h>

#define MOST 262144

struct input {
	const char *name;
	size_t n;
	void (*fill)(double *x, size_t n);
};

/* The generator of Numerical Recipes, its top 24 bits, from seed 935. */
static void fill_lcg(double *x, size_t n)
{
	uint32_t s = 935;

	for (size_t i = 0; i < n; i++) {
		s = 1664525 * s + 1013904223;
		x[i] = (s >> 8) / 16777216.0;
	}
}

static void fill_ramp(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (double)i / (double)n;
}

static void fill_irwin_hall(double *x, size_t n)
{
	uint32_t s = 935;

	for (size_t i = 0; i < n; i++) {
		x[i] = -6.0;
		for (int k = 0; k < 12; k++) {
			s = 1664525 * s + 1013904223;
			x[i] += (s >> 8) / 16777216.0;
		}
	}
}

/* Put x in the order of a permutation of full period; n is a power of two. */
static void shuffle(double *x, size_t n)
{
	const size_t a = ((1664525 % n | 1) & ~(size_t)3) | 1, c = 1013904223 % n | 1;
	double *copy = malloc(n * sizeof(*copy));
	size_t s = 0;

	assert_non_null(copy);
	memcpy(copy, x, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++) {
		x[i] = copy[s];
		s = (a * s + c) % n;
	}
	free(copy);
}

static double midpoint(size_t i, size_t n)
{
	return ((double)i + 0.5) / (double)n;
}

static void fill_logistic(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = log(midpoint(i, n) / (1 - midpoint(i, n)));
	shuffle(x, n);
}

static void fill_laplace_sorted(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double c = midpoint(i, n) - 0.5;

		x[i] = (c < 0 ? 1 : -1) * log1p(-2 * fabs(c));
	}
}

static void fill_laplace(double *x, size_t n)
{
	fill_laplace_sorted(x, n);
	shuffle(x, n);
}

static void fill_t2(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double u = midpoint(i, n);

		x[i] = (2 * u - 1) / sqrt(2 * u * (1 - u));
	}
	shuffle(x, n);
}

static void fill_exponential(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = -log1p(-midpoint(i, n));
	shuffle(x, n);
}

static void fill_rounded(double *x, size_t n)
{
	fill_irwin_hall(x, n);
	for (size_t i = 0; i < n; i++)
		x[i] = floor(x[i] / 0.5 + 0.5) * 0.5;
}

static void fill_alternating(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = i % 2 ? -1 : 1;
}

static void fill_ternary(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (double)(i % 3) - 1;
}

static void fill_one_hot(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = i == 1234;
}

static void fill_peaked(double *x, size_t n)
{
	fill_irwin_hall(x, n);
	for (size_t i = 0; i < n; i++)
		x[i] = 0.4 + 0.02 * x[i] + (i % 64 == 7 ? 0.5 : 0.0);
}

static void fill_sine(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = sin(2 * M_PI * 64 * (double)i / 65536);
}

static void fill_half(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = 0.5;
}

static void fill_zero(double *x, size_t n)
{
	memset(x, 0, n * sizeof(*x));
}

static void fill_holes(double *x, size_t n)
{
	fill_lcg(x, n);
	for (size_t i = 0; i < n; i += 100)
		x[i] = NAN;
	x[5] = INFINITY;
}

static const struct input inputs[] = {
	{ "ramp4096", 4096, fill_ramp },
	{ "ramp65536", 65536, fill_ramp },
	{ "lcg_uniform_65536", 65536, fill_lcg },
	{ "lcg_uniform_262144", 262144, fill_lcg },
	{ "lcg_irwinhall12_65536", 65536, fill_irwin_hall },
	{ "logistic_q_65536_shuf", 65536, fill_logistic },
	{ "laplace_q_65536_shuf", 65536, fill_laplace },
	{ "t2_q_65536_shuf", 65536, fill_t2 },
	{ "expo_q_65536_shuf", 65536, fill_exponential },
	{ "laplace_q_65536_sorted", 65536, fill_laplace_sorted },
	{ "irwinhall_round0.5", 65536, fill_rounded },
	{ "alt_pm1_4096", 4096, fill_alternating },
	{ "ternary_i_mod3_6144", 6144, fill_ternary },
	{ "onehot_4096", 4096, fill_one_hot },
	{ "peaked_norm_4096", 4096, fill_peaked },
	{ "sine_64periods_65536", 65536, fill_sine },
	{ "const_0.5_1000", 1000, fill_half },
	{ "zeros_1000", 1000, fill_zero },
	{ "lcg_4096_with_42_nonfinite", 4096, fill_holes },
};

/* Measure the sampled values of n floats, in memory of exactly the size that is asked for. */
static struct zmeasure measure(const float *values, size_t n)
{
	struct zmeasure result;
	struct sample sample;
	struct span span;
	float *looked_at;
	void *scratch;
	size_t sampled = 0;

	sample_init(&sample, n, SAMPLE_DEFAULT);
	looked_at = malloc(sample_most(&sample) * sizeof(*looked_at) + 1);
	assert_non_null(looked_at);
	while (sample_next(&sample, &span)) {
		memcpy(looked_at + sampled, values + span.start, span.count * sizeof(*values));
		sampled += span.count;
	}
	scratch = malloc(zmeasure_scratch(sampled));
	assert_non_null(scratch);
	zmeasure(looked_at, sampled, n, scratch, &result);
	free(scratch);
	free(looked_at);
	return result;
}

static float *make(const struct input *input)
{
	double *x = malloc(input->n * sizeof(*x));
	float *values = malloc(input->n * sizeof(*values));

	assert_non_null(x);
	assert_non_null(values);
	input->fill(x, input->n);
	for (size_t i = 0; i < input->n; i++)
		values[i] = (float)x[i];
	free(x);
	return values;
}

static void assert_close(const char *name, const char *what, double value, double expected)
{
	const double scale = fabs(expected) > 1 ? fabs(expected) : 1;

	if (fabs(value - expected) <= 1e-6 * scale)
		return;
	print_error("%s: %s is %.9f, expected %.9f\n", name, what, value, expected);
	fail();
}

static const char *status_name(enum zmeasure_status status)
{
	static const char *const names[] = {
		"ok", "constant", "zero", "short", "spike", "nonfinite"
	};

	return names[status];
}

/* One row of the golden values: name, n, sampled, nonfinite, status, then nine numbers. */
static void assert_row(const struct input *input, const char *row)
{
	float *values = make(input);
	const struct zmeasure z = measure(values, input->n);
	const double measured[] = { z.entropy,	      z.kurtosis,      z.spacing, z.score_entropy,
				    z.score_kurtosis, z.score_spacing, z.signal,  z.theta };
	static const char *const names[] = { "entropy",	   "kurtosis", "cv",	 "s_entropy",
					     "s_kurtosis", "s_cv",     "signal", "theta" };
	char status[16], magnitude[32];
	unsigned long n, sampled, nonfinite;
	double expected[8];

	free(values);
	assert_int_equal(sscanf(row, "%*s %lu %lu %lu %15s %lf %lf %lf %lf %lf %lf %lf %lf %31s",
				&n, &sampled, &nonfinite, status, &expected[0], &expected[1],
				&expected[2], &expected[3], &expected[4], &expected[5],
				&expected[6], &expected[7], magnitude),
			 13);
	assert_int_equal(z.elements, n);
	assert_int_equal(z.sampled, sampled);
	assert_int_equal(z.nonfinite, nonfinite);
	assert_string_equal(status_name(z.status), status);
	for (size_t i = 0; i < ARRAY_LENGTH(measured); i++)
		assert_close(input->name, names[i], measured[i], expected[i]);
	assert_int_equal(z.has_magnitude, strcmp(magnitude, "null") != 0);
	if (z.has_magnitude)
		assert_close(input->name, "dI", z.magnitude, strtod(magnitude, NULL));
}

static void golden_values_are_met(void **state)
{
	FILE *in = fopen("tests/unit/golden_z.tsv", "r");
	char row[512], name[64];
	size_t rows = 0;

	(void)state;
	assert_non_null(in);
	assert_non_null(fgets(row, sizeof(row), in));
	while (fgets(row, sizeof(row), in)) {
		assert_true(rows < ARRAY_LENGTH(inputs));
		assert_int_equal(sscanf(row, "%63s", name), 1);
		assert_string_equal(name, inputs[rows].name);
		assert_row(&inputs[rows++], row);
	}
	assert_int_equal(rows, ARRAY_LENGTH(inputs));
	fclose(in);
}

static void theta_knows_neither_scale_nor_offset_nor_order(void **state)
{
	const struct input input = { "", 16384, fill_irwin_hall };
	float *values = make(&input);
	const struct zmeasure plain = measure(values, input.n);
	struct zmeasure other;

	(void)state;
	for (size_t i = 0; i < input.n; i++)
		values[i] = values[i] * -4.0f;
	other = measure(values, input.n);
	assert_close("scaled", "theta", other.theta, plain.theta);
	for (size_t i = 0; i < input.n / 2; i++) {
		const float swap = values[i];

		values[i] = values[input.n - 1 - i];
		values[input.n - 1 - i] = swap;
	}
	other = measure(values, input.n);
	assert_close("reversed", "theta", other.theta, plain.theta);
	free(values);
}

static void few_values_are_told_apart(void **state)
{
	const float different[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, equal[] = { 2, 2, 2 };
	const float signs[] = { 0.0f, -0.0f, 0.0f }, none[] = { NAN, INFINITY, -INFINITY };
	struct zmeasure z;

	(void)state;
	assert_int_equal(measure(different, 7).status, ZMEASURE_SHORT);
	z = measure(different, 8);
	assert_int_equal(z.status, ZMEASURE_OK);
	assert_true(z.low_n);
	assert_false(z.has_magnitude);
	assert_int_equal(measure(equal, 3).status, ZMEASURE_CONSTANT);
	assert_int_equal(measure(signs, 3).status, ZMEASURE_ZERO);
	z = measure(none, 3);
	assert_int_equal(z.status, ZMEASURE_NONFINITE);
	assert_int_equal(z.nonfinite, 3);
	assert_true(isnan(z.theta));
	assert_int_equal(measure(none, 0).status, ZMEASURE_NONFINITE);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(golden_values_are_met),
	cmocka_unit_test(theta_knows_neither_scale_nor_offset_nor_order),
	cmocka_unit_test(few_values_are_told_apart),
};

UNIT_MAIN(tests)
