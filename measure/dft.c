/* SPDX-License-Identifier: MIT */
/* dft.c - see dft.h. */
#include "dft.h"

#include "complex_lanes.h"
#include "fft.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* for longer joins Bluestein's convolution is faster */
#define JOIN_MOST 300

/* complex numbers joined at a time, also counted in vectors */
#define STRIP	    8
#define STRIP_LANES (STRIP / PAIR)

struct strip {
	lanes v[STRIP_LANES];
};

struct dft {
	size_t length;
	size_t q, m;	 /* q 1: fft alone; q 0: a convolution of length m */
	struct fft *fft; /* of length m */
	/* q > 1: q rows of m numbers, with room for whole strips; 0: the convolution's input */
	size_t stride;
	kiss_fft_cpx *parts;
	/* q > 1: for each part its factors before the join, in pairs; cos and sin of 2 pi i / q;
	 * sums and differences of parts i and q - i */
	struct factors *factors;
	float *cosine, *sine;
	struct strip *sums, *differences;
	/* q 0: the chirp; the transform of its conjugate, divided by m; the product's transform */
	kiss_fft_cpx *chirp, *kernel, *product;
};

static inline kiss_fft_cpx times(kiss_fft_cpx a, kiss_fft_cpx b)
{
	return (kiss_fft_cpx){ a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r };
}

/* The length divided by all its factors 2, 3 and 5. */
static size_t other_factors(size_t length)
{
	while (length % 2 == 0)
		length /= 2;
	while (length % 3 == 0)
		length /= 3;
	while (length % 5 == 0)
		length /= 5;
	return length;
}

/* The least length that fft.h handles and that is not below `least`. */
static size_t quick_length(size_t least)
{
	static const uint8_t eighths[] = { 8, 9, 10, 12, 15, 16 };
	size_t power = 8;

	while (power * 2 < least)
		power *= 2;
	for (size_t i = 0;; i++)
		if (power / 8 * eighths[i] >= least || eighths[i] == 16)
			return power / 8 * eighths[i];
}

static size_t whole_strips(size_t m)
{
	return (m + STRIP - 1) / STRIP * STRIP;
}

/* A strip costs the same if it is partly filled. */
static bool joining_pays(size_t q, size_t m)
{
	return q <= JOIN_MOST && q * whole_strips(m) <= JOIN_MOST * m;
}

static bool prepare_joining(struct dft *dft)
{
	const size_t q = dft->q;

	dft->stride = whole_strips(dft->m);
	dft->parts = calloc(q * dft->stride, sizeof(*dft->parts));
	dft->factors = calloc(q * (dft->stride / PAIR), sizeof(*dft->factors));
	dft->cosine = calloc(q, sizeof(*dft->cosine));
	dft->sine = calloc(q, sizeof(*dft->sine));
	dft->sums = calloc(q, sizeof(*dft->sums));
	dft->differences = calloc(q, sizeof(*dft->differences));
	if (!dft->parts || !dft->factors || !dft->cosine || !dft->sine || !dft->sums ||
	    !dft->differences)
		return false;
	for (size_t j = 0; j < q; j++) {
		const kiss_fft_cpx t = turn((double)j, (double)q);

		dft->cosine[j] = t.r;
		dft->sine[j] = -t.i;
		for (size_t k = 0; k < dft->m; k++)
			factors_set(&dft->factors[(j * dft->stride + k) / PAIR], k % PAIR,
				    turn((double)(j * k), (double)dft->length));
	}
	return true;
}

/* exp(-pi i t^2 / length). The chirp turns k t into ((k^2 + t^2) - (k - t)^2) / 2. */
static kiss_fft_cpx chirp_at(size_t t, size_t length)
{
	return turn((double)((uint64_t)t * t % (2 * (uint64_t)length)), 2.0 * (double)length);
}

static bool prepare_convolution(struct dft *dft)
{
	const size_t n = dft->length, m = dft->m;

	dft->parts = calloc(m, sizeof(*dft->parts));
	dft->product = calloc(m, sizeof(*dft->product));
	dft->kernel = calloc(m, sizeof(*dft->kernel));
	dft->chirp = calloc(n, sizeof(*dft->chirp));
	if (!dft->parts || !dft->product || !dft->kernel || !dft->chirp)
		return false;
	for (size_t t = 0; t < n; t++) {
		const kiss_fft_cpx c = chirp_at(t, n);

		dft->chirp[t] = c;
		dft->parts[t] = (kiss_fft_cpx){ c.r / (float)m, -c.i / (float)m };
		dft->parts[(m - t) % m] = dft->parts[t];
	}
	fft_run(dft->fft, dft->parts, 1, dft->kernel);
	memset(dft->parts, 0, m * sizeof(*dft->parts));
	return true;
}

struct dft *dft_new(size_t length)
{
	struct dft *dft = calloc(1, sizeof(*dft));

	if (!dft || length > DFT_MOST)
		goto fail;
	dft->length = length;
	dft->q = other_factors(length);
	dft->m = length / dft->q;
	if (dft->q > 1 && !joining_pays(dft->q, dft->m)) {
		dft->q = 0;
		dft->m = quick_length(2 * length - 1);
	}
	dft->fft = fft_new(dft->m);
	if (!dft->fft || (dft->q > 1 && !prepare_joining(dft)) ||
	    (dft->q == 0 && !prepare_convolution(dft)))
		goto fail;
	return dft;
fail:
	dft_free(dft);
	return NULL;
}

void dft_free(struct dft *dft)
{
	if (!dft)
		return;
	fft_free(dft->fft);
	free(dft->parts);
	free(dft->factors);
	free(dft->chirp);
	free(dft->cosine);
	free(dft->sine);
	free(dft->sums);
	free(dft->differences);
	free(dft->kernel);
	free(dft->product);
	free(dft);
}

/* Load one strip of a part, multiplied by its factors. */
static inline struct strip load_strip(const struct dft *dft, size_t part, size_t k)
{
	const kiss_fft_cpx *from = dft->parts + part * dft->stride + k;
	const struct factors *factors = dft->factors + (part * dft->stride + k) / PAIR;
	struct strip strip;

#pragma GCC unroll 4
	for (size_t l = 0; l < STRIP_LANES; l++)
		strip.v[l] = pair_times(pair_load(from + l * PAIR), &factors[l]);
	return strip;
}

/* The last strip may be narrower. */
static void store_strip(const struct dft *dft, const struct strip *strip, kiss_fft_cpx *out,
			size_t k)
{
	const size_t n = dft->m - k < STRIP ? dft->m - k : STRIP;

	memcpy(out + k, strip, n * sizeof(*out));
}

/* Outputs k of the parts f and q - f: a - ib and a + ib. */
static void join_pair(const struct dft *dft, const struct strip *first, size_t f, size_t k,
		      kiss_fft_cpx *out)
{
	struct strip a = *first, b = { 0 }, plus, minus;

	for (size_t j = 1, i = f; j <= dft->q / 2; j++) {
#pragma GCC unroll 4
		for (size_t l = 0; l < STRIP_LANES; l++) {
			a.v[l] += dft->cosine[i] * dft->sums[j].v[l];
			b.v[l] += dft->sine[i] * dft->differences[j].v[l];
		}
		i += f;
		i -= i >= dft->q ? dft->q : 0;
	}
	for (size_t l = 0; l < STRIP_LANES; l++) {
		const lanes ib = pair_turn(b.v[l]);

		plus.v[l] = a.v[l] + ib;
		minus.v[l] = a.v[l] - ib;
	}
	store_strip(dft, &minus, out + f * dft->m, k);
	store_strip(dft, &plus, out + (dft->q - f) * dft->m, k);
}

static void join_strip(struct dft *dft, size_t k, kiss_fft_cpx *out)
{
	const struct strip first = load_strip(dft, 0, k);
	struct strip all = first;

	for (size_t j = 1; j <= dft->q / 2; j++) {
		const struct strip a = load_strip(dft, j, k), b = load_strip(dft, dft->q - j, k);

#pragma GCC unroll 4
		for (size_t l = 0; l < STRIP_LANES; l++) {
			dft->sums[j].v[l] = a.v[l] + b.v[l];
			dft->differences[j].v[l] = a.v[l] - b.v[l];
			all.v[l] += dft->sums[j].v[l];
		}
	}
	store_strip(dft, &all, out, k);
	for (size_t f = 1; f <= dft->q / 2; f++)
		join_pair(dft, &first, f, k, out);
}

static void convolve(struct dft *dft, const kiss_fft_cpx *in, kiss_fft_cpx *out)
{
	const size_t n = dft->length, m = dft->m;

	for (size_t t = 0; t < n; t++)
		dft->parts[t] = times(in[t], dft->chirp[t]);
	memset(dft->parts + n, 0, (m - n) * sizeof(*dft->parts));
	fft_run(dft->fft, dft->parts, 1, dft->product);
	for (size_t k = 0; k < m; k++)
		dft->product[k] = times(dft->product[k], dft->kernel[k]);
	fft_run(dft->fft, dft->product, 1, dft->parts);
	/* A forward transform with reversed indexes replaces the inverse one. */
	for (size_t k = 0; k < n; k++)
		out[k] = times(dft->parts[(m - k) % m], dft->chirp[k]);
}

void dft_run(struct dft *dft, const kiss_fft_cpx *in, kiss_fft_cpx *out)
{
	if (dft->q == 0) {
		convolve(dft, in, out);
		return;
	}
	if (dft->q == 1) {
		fft_run(dft->fft, in, 1, out);
		return;
	}
	for (size_t j = 0; j < dft->q; j++)
		fft_run(dft->fft, in + j, dft->q, dft->parts + j * dft->stride);
	for (size_t k = 0; k < dft->m; k += STRIP)
		join_strip(dft, k, out);
}
