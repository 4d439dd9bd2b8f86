/* SPDX-License-Identifier: MIT */
/* test_zstream.c - measure/zstream.c: the same figures as zmeasure() of all values, for any
 * chunks. */
#include "measure/zmeasure.h"
#include "measure/zstream.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>

static struct zmeasure measure(const float *values, size_t n)
{
	void *scratch = malloc(zmeasure_scratch(n) + 1);
	struct zmeasure result;

	assert_non_null(scratch);
	zmeasure(values, n, n, scratch, &result);
	free(scratch);
	return result;
}

/* Stream values in chunks of these lengths, shifted in every pass. Returns the number of passes. */
static unsigned stream(const float *values, size_t n, const size_t lengths[3],
		       struct zmeasure *result)
{
	static struct zstream z; /* 5 MB; static, so that their pages are made only once */
	unsigned passes = 0;

	memset(&z, 0xa5, sizeof(z));
	zstream_begin(&z);
	do {
		for (size_t at = 0, taken, chunk = passes; at < n; at += taken, chunk++) {
			taken = lengths[chunk % 3] < n - at ? lengths[chunk % 3] : n - at;
			zstream_add(&z, values + at, taken);
		}
		passes++;
	} while (zstream_again(&z));
	zstream_end(&z, result);
	return passes;
}

static void assert_same_number(double a, double b)
{
	if (memcmp(&a, &b, sizeof(a)) != 0)
		fail_msg("%.17g by the stream, %.17g in memory", a, b);
}

static unsigned check(const float *values, size_t n, const size_t lengths[3])
{
	const struct zmeasure all = measure(values, n);
	struct zmeasure z;
	const unsigned passes = stream(values, n, lengths, &z);

	assert_int_equal(z.status, all.status);
	assert_int_equal(z.elements, all.elements);
	assert_int_equal(z.sampled, all.sampled);
	assert_int_equal(z.nonfinite, all.nonfinite);
	assert_int_equal(z.low_n, all.low_n);
	assert_same_number(z.entropy, all.entropy);
	assert_same_number(z.kurtosis, all.kurtosis);
	assert_same_number(z.spacing, all.spacing);
	assert_same_number(z.s_entropy, all.s_entropy);
	assert_same_number(z.s_kurtosis, all.s_kurtosis);
	assert_same_number(z.s_spacing, all.s_spacing);
	assert_same_number(z.signal, all.signal);
	assert_same_number(z.theta, all.theta);
	assert_int_equal(z.has_magnitude, all.has_magnitude);
	assert_same_number(z.magnitude, all.magnitude);
	assert_same_number(z.min, all.min);
	assert_same_number(z.max, all.max);
	assert_same_number(z.mean, all.mean);
	assert_same_number(z.deviation, all.deviation);
	assert_same_number(z.zeros, all.zeros);
	return passes;
}

static const size_t odd_lengths[3] = { 4096, 1, 777 };

static void check_table(const char *path, make_input *make)
{
	FILE *table = ztable_open(path);
	struct zrow row;

	while (ztable_next(table, &row)) {
		float *values = make(row.name, to_size(row.n));

		check(values, to_size(row.n), odd_lengths);
		free(values);
	}
	fclose(table);
}

static void the_known_inputs_measure_the_same(void **state)
{
	(void)state;
	check_table("tests/unit/golden_z.tsv", golden_input);
	check_table("tests/unit/random_z.tsv", random_input);
}

static void many_values_measure_the_same(void **state)
{
	static const char *const kinds[] = { "bell-1", "heavy-2", "grid-3", "sparse-4", "holes-5" };

	(void)state;
	for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
		const size_t n = k ? 200003 : 1000003;
		float *values = random_input(kinds[k], n);

		assert_int_equal(check(values, n, (size_t[]){ 65536, 65536, 65536 }), 3);
		free(values);
	}
}

/* Random bits give every exponent, both signs, denormals, infinities and NaNs. */
static void random_bits_measure_the_same(void **state)
{
	uint32_t random = 1, bits;
	float values[3000];

	(void)state;
	for (size_t n = 1; n < 3000; n += 1 + n / 7) {
		for (size_t i = 0; i < n; i++) {
			random = 1664525u * random + 1013904223u;
			bits = random ^ random >> 13;
			memcpy(&values[i], &bits, sizeof(bits));
		}
		check(values, n, odd_lengths);
	}
}

/* Few distinct values, some of them neighbouring floats. */
static void ties_measure_the_same(void **state)
{
	static const float level[] = {
		-1.0f, -0.0f, 0.0f, 0x1p-149f, 1.0f, 1.0f + FLT_EPSILON, 1.0f + 2 * FLT_EPSILON,
		40.0f
	};
	uint32_t random = 3;
	float values[5000];

	(void)state;
	for (size_t levels = 2; levels <= ARRAY_LENGTH(level); levels++)
		for (size_t n = 8; n < 5000; n += n / 2) {
			for (size_t i = 0; i < n; i++)
				values[i] = level[(size_t)(lcg(&random) * (double)levels)];
			check(values, n, odd_lengths);
		}
}

static void chunks_do_not_matter(void **state)
{
	static const size_t lengths[][3] = {
		{ 1, 1, 1 }, { 255, 1, 256 }, { 257, 255, 300 }, { 256, 256, 256 }, { 5000, 0, 7 }
	};
	float *values = random_input("skew-6", 5000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
		check(values, 5000, lengths[i]);
	free(values);
}

static void passes_stop_when_nothing_is_left_to_find(void **state)
{
	float values[3000] = { 0 };

	(void)state;
	assert_int_equal(check(values, 0, odd_lengths), 1);
	assert_int_equal(check(values, 3000, odd_lengths), 1);
	values[9] = 1.0f;
	assert_int_equal(check(values + 5, 7, odd_lengths), 2);
	assert_int_equal(check(values, 3000, odd_lengths), 2);
	for (size_t i = 0; i < 3000; i++)
		values[i] = (float)i;
	assert_int_equal(check(values, 3000, odd_lengths), 3);
	for (size_t i = 0; i < 3000; i++)
		values[i] = (float)NAN;
	assert_int_equal(check(values, 3000, odd_lengths), 1);
}

static void memory_is_bounded(void **state)
{
	(void)state;
	assert_true(sizeof(struct zstream) < 5 << 20);
}

/* The file changed under the reader: the figures are void, but the code ends in its memory. */
static void other_values_in_a_later_pass_do_no_harm(void **state)
{
	struct zstream *z = malloc(sizeof(*z));
	uint32_t random = 1, bits;
	struct zmeasure result;
	float value;

	(void)state;
	assert_non_null(z);
	for (unsigned round = 0; round < 20; round++) {
		zstream_begin(z);
		do
			for (unsigned i = 0; i < 500 + 400 * (random >> 8) % 3; i++) {
				random = 1664525u * random + 1013904223u;
				bits = random ^ random >> 13;
				memcpy(&value, &bits, sizeof(bits));
				zstream_add(z, &value, 1);
			}
		while (zstream_again(z));
		zstream_end(z, &result);
	}
	free(z);
}

UNIT_MAIN(NULL, NULL)
