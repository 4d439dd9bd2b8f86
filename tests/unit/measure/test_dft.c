/* SPDX-License-Identifier: MIT */
/* test_dft.c - measure/dft.c: lengths of every kind against the definition in double precision. */
#include "measure/dft.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

/* Largest difference between the transform of n random numbers and the definition, relative to the
 * root mean square. */
#define TOLERANCE 3e-6

static double difference(const kiss_fft_cpx *in, const kiss_fft_cpx *out, size_t n, size_t k)
{
	double re = 0.0, im = 0.0;

	for (size_t t = 0; t < n; t++) {
		const double angle = -2.0 * acos(-1.0) * (double)((uint64_t)k * t % n) / (double)n;

		re += (double)in[t].r * cos(angle) - (double)in[t].i * sin(angle);
		im += (double)in[t].r * sin(angle) + (double)in[t].i * cos(angle);
	}
	return hypot((double)out[k].r - re, (double)out[k].i - im);
}

/* Check all frequencies of a short transform, and some of a long one. */
static void check_length(size_t n)
{
	struct dft *dft = dft_new(n);
	kiss_fft_cpx *in = calloc(n, sizeof(*in)), *out = calloc(n + 1, sizeof(*out));
	uint32_t state = (uint32_t)n;

	assert_true(dft && in && out);
	/* The second pass must not depend on the first. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t t = 0; t < n; t++)
			in[t] = (kiss_fft_cpx){ (float)bell(&state), (float)bell(&state) };
		out[n].r = 935.0f;
		dft_run(dft, in, out);
		assert_true(out[n].r == 935.0f);
	}
	for (size_t k = 0; k < n; k += n < 400 ? 1 : n / 17)
		if (!(difference(in, out, n, k) < TOLERANCE * sqrt(2.0 * (double)n)))
			fail_msg("length %zu: %g at %zu", n, difference(in, out, n, k), k);
	dft_free(dft);
	free(in);
	free(out);
}

static void every_short_length_is_transformed(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 300; n++)
		check_length(n);
}

static void long_lengths_with_and_without_large_factors_are_transformed(void **state)
{
	static const size_t lengths[] = { 512,	 1024,	   1155,     1331, 2048,     5504,
					  7168,	 197 * 64, 9472,     5003, 293 * 16, 16384,
					  65536, 43046,	   199 * 97, 77777 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
		check_length(lengths[i]);
}

/* An impulse gives a rotation in every frequency. */
static void a_long_prime_length_is_exact_everywhere(void **state)
{
	const size_t n = 100003, place = 4711;
	struct dft *dft = dft_new(n);
	kiss_fft_cpx *in = calloc(n, sizeof(*in)), *out = calloc(n, sizeof(*out));

	(void)state;
	assert_true(dft && in && out);
	in[place].r = 1.0f;
	dft_run(dft, in, out);
	for (size_t k = 0; k < n; k++) {
		const double angle =
			-2.0 * acos(-1.0) * (double)((uint64_t)k * place % n) / (double)n;

		assert_true(hypot((double)out[k].r - cos(angle), (double)out[k].i - sin(angle)) <
			    1e-5);
	}
	dft_free(dft);
	free(in);
	free(out);
}

static void without_memory_there_is_no_transform(void **state)
{
	static const size_t lengths[] = { 64, 112, 211 };

	(void)state;
	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
		for (uint64_t k = 1;; k++) {
			struct dft *dft;
			bool failed;

			allocation_fails(k);
			dft = dft_new(lengths[i]);
			failed = allocation_failed();
			assert_int_equal(!dft, failed);
			dft_free(dft);
			if (!failed)
				break;
		}
	assert_null(dft_new(DFT_MOST + 1));
}

UNIT_MAIN(NULL, NULL)
