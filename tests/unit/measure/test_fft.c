/* SPDX-License-Identifier: MIT */
/* test_fft.c - measure/fft.c: strided numbers, of lengths with many factors, one and none.
 * test_dft.c compares every length with the definition. */
#include "measure/fft.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

/* Check that a wave of one frequency gives one number, for some frequencies. */
static void check_length(size_t n, size_t stride)
{
	struct fft *fft = fft_new(n);
	kiss_fft_cpx *in = calloc(n * stride, sizeof(*in)), *out = calloc(n + 1, sizeof(*out));

	assert_true(fft && in && out);
	for (size_t i = 0; i < n * stride; i++)
		in[i] = (kiss_fft_cpx){ NAN, NAN };
	for (size_t f = 0; f < n; f += 1 + n / 11) {
		for (size_t t = 0; t < n; t++) {
			const double angle = 2.0 * acos(-1.0) * (double)(f * t % n) / (double)n;

			in[t * stride] = (kiss_fft_cpx){ (float)cos(angle), (float)sin(angle) };
		}
		out[n].r = 935.0f;
		fft_run(fft, in, stride, out);
		for (size_t k = 0; k < n; k++)
			assert_true(hypot((double)out[k].r - (k == f ? (double)n : 0.0),
					  (double)out[k].i) < 1e-6 * (double)n);
		assert_true(out[n].r == 935.0f);
	}
	fft_free(fft);
	free(in);
	free(out);
}

static void strided_numbers_are_transformed(void **state)
{
	static const size_t lengths[] = {
		1, 2, 3, 8, 30, 32, 36, 60, 128, 144, 480, 512, 2048, 6000
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
		for (size_t stride = 1; stride <= 7; stride += 3)
			check_length(lengths[i], stride);
}

static void without_memory_there_is_no_transform(void **state)
{
	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1;; k++) {
		struct fft *fft;
		bool failed;

		allocation_fails(k);
		fft = fft_new(2048);
		failed = allocation_failed();
		assert_int_equal(!fft, failed);
		fft_free(fft);
		if (!failed)
			break;
	}
}

UNIT_MAIN(NULL, NULL)
