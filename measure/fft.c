/* SPDX-License-Identifier: MIT */
/* fft.c - see fft.h. A length n is split into four interleaved ones of n / 4, as long as n / 4 is
 * even and not below LEAST. */
#include "fft.h"

#include "complex_lanes.h"

#include <stdbool.h>
#include <stdlib.h>

#define RADIX 4
/* for shorter transforms KissFFT's set-up costs more than the transform */
#define LEAST 8
/* 4^14 times LEAST is 2^31. */
#define MOST_JOINS 14

struct fft {
	kiss_fft_cfg plan;
	size_t joins;
	/* Joins, the longest first: length of the parts, factors of three of the four. */
	struct fft_join {
		size_t length;
		struct factors *factors;
	} join[MOST_JOINS];
};

static bool prepare_join(struct fft_join *join, size_t length)
{
	join->length = length;
	join->factors = calloc((RADIX - 1) * (length / PAIR), sizeof(*join->factors));
	if (!join->factors)
		return false;
	for (size_t k = 0; k < length; k++)
		for (size_t j = 1; j < RADIX; j++)
			factors_set(&join->factors[(RADIX - 1) * (k / PAIR) + j - 1], k % PAIR,
				    turn((double)(j * k), (double)(RADIX * length)));
	return true;
}

struct fft *fft_new(size_t length)
{
	struct fft *fft = calloc(1, sizeof(*fft));

	if (!fft)
		return NULL;
	while (length % (RADIX * PAIR) == 0 && length / RADIX >= LEAST) {
		length /= RADIX;
		if (!prepare_join(&fft->join[fft->joins++], length))
			goto fail;
	}
	fft->plan = kiss_fft_alloc((int)length, 0, NULL, NULL);
	if (!fft->plan)
		goto fail;
	return fft;
fail:
	fft_free(fft);
	return NULL;
}

void fft_free(struct fft *fft)
{
	if (!fft)
		return;
	for (size_t i = 0; i < fft->joins; i++)
		free(fft->join[i].factors);
	kiss_fft_free(fft->plan);
	free(fft);
}

/* Join four transforms, which follow each other, in place. */
static void join_four(const struct fft_join *join, kiss_fft_cpx *out)
{
	const size_t n = join->length;
	const struct factors *f = join->factors;

	for (size_t k = 0; k < n; k += PAIR, f += RADIX - 1) {
		const lanes a = pair_load(out + k), b = pair_times(pair_load(out + n + k), &f[0]);
		const lanes c = pair_times(pair_load(out + 2 * n + k), &f[1]);
		const lanes d = pair_times(pair_load(out + 3 * n + k), &f[2]);
		const lanes even = a + c, odd = b + d, even_gap = a - c;
		const lanes odd_gap = pair_turn(b - d);

		pair_store(out + k, even + odd);
		pair_store(out + n + k, even_gap - odd_gap);
		pair_store(out + 2 * n + k, even - odd);
		pair_store(out + 3 * n + k, even_gap + odd_gap);
	}
}

static void run_from(const struct fft *fft, size_t i, const kiss_fft_cpx *in, size_t stride,
		     kiss_fft_cpx *out)
{
	if (i == fft->joins) {
		kiss_fft_stride(fft->plan, in, out, (int)stride);
		return;
	}
	for (size_t j = 0; j < RADIX; j++)
		run_from(fft, i + 1, in + j * stride, stride * RADIX,
			 out + j * fft->join[i].length);
	join_four(&fft->join[i], out);
}

void fft_run(const struct fft *fft, const kiss_fft_cpx *in, size_t stride, kiss_fft_cpx *out)
{
	run_from(fft, 0, in, stride, out);
}
