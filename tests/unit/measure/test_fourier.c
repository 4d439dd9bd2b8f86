/* SPDX-License-Identifier: MIT */
/* test_fourier.c - measure/fourier.c: transforms of even and odd numbers of reals, both ways. */
#include "measure/dft.h"
#include "measure/fourier.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

static double difference(const float *x, kiss_fft_cpx bin, size_t n, size_t k)
{
	double re = 0.0, im = 0.0;

	for (size_t t = 0; t < n; t++) {
		const double angle = -2.0 * acos(-1.0) * (double)(k * t % n) / (double)n;

		re += (double)x[t] * cos(angle);
		im += (double)x[t] * sin(angle);
	}
	return hypot((double)bin.r - re, (double)bin.i - im);
}

static void check_count(size_t n)
{
	struct fourier *fourier = fourier_new(n);
	kiss_fft_cpx *bins = calloc(n / 2 + 2, sizeof(*bins));
	float *x = new_values(n), *back = new_values(n + 1);
	uint32_t state = (uint32_t)n;

	assert_true(fourier && bins);
	assert_int_equal(fourier_bins(fourier), n / 2 + 1);
	for (size_t t = 0; t < n; t++)
		x[t] = (float)bell(&state);
	bins[n / 2 + 1].r = 935.0f;
	back[n] = 935.0f;
	fourier_forward(fourier, x, bins);
	for (size_t k = 0; k <= n / 2; k += n < 400 ? 1 : n / 17)
		assert_true(difference(x, bins[k], n, k) < 3e-6 * sqrt((double)n));
	fourier_inverse(fourier, bins, back);
	for (size_t t = 0; t < n; t++)
		assert_true(fabs((double)back[t] / (double)n - (double)x[t]) < 1e-5);
	assert_true(bins[n / 2 + 1].r == 935.0f && back[n] == 935.0f);
	fourier_free(fourier);
	free(bins);
	free(x);
	free(back);
}

static void every_number_of_values_is_transformed_there_and_back(void **state)
{
	static const size_t counts[] = { 576, 1000, 1009, 2018, 4096, 11008, 18944, 10007, 30030 };

	(void)state;
	for (size_t n = 1; n <= 150; n++)
		check_count(n);
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++)
		check_count(counts[i]);
}

static void without_memory_there_is_no_transform(void **state)
{
	(void)state;
	needs_failing_allocations();
	for (size_t n = 62; n <= 63; n++)
		for (uint64_t k = 1;; k++) {
			struct fourier *fourier;
			bool failed;

			allocation_fails(k);
			fourier = fourier_new(n);
			failed = allocation_failed();
			assert_int_equal(!fourier, failed);
			fourier_free(fourier);
			if (!failed)
				break;
		}
	assert_null(fourier_new(2 * DFT_MOST + 2));
}

UNIT_MAIN(NULL, NULL)
