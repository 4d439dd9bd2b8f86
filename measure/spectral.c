/* SPDX-License-Identifier: MIT */
/* spectral.c - see spectral.h. */
#include "spectral.h"

#include "fourier.h"
#include "purify.h"
#include "tail.h"

#include <stdlib.h>

struct spectral {
	size_t count;
	float most;
	struct fourier *fourier;
	kiss_fft_cpx *bins;
	float *energies; /* energies of bins[1] and up */
	uint32_t *keys;
	float *row;
};

struct spectral *spectral_new(size_t count, float most)
{
	struct spectral *s = calloc(1, sizeof(*s));
	size_t bins;

	if (!s)
		return NULL;
	s->count = count;
	s->most = most;
	/* a shorter row stays unchanged */
	if (count < 4)
		return s;
	s->fourier = fourier_new(count);
	if (!s->fourier)
		goto fail;
	bins = fourier_bins(s->fourier);
	s->bins = calloc(bins, sizeof(*s->bins));
	s->energies = calloc(bins - 1, sizeof(*s->energies));
	s->keys = calloc(bins - 1, sizeof(*s->keys));
	s->row = calloc(count, sizeof(*s->row));
	if (!s->bins || !s->energies || !s->keys || !s->row)
		goto fail;
	return s;
fail:
	spectral_free(s);
	return NULL;
}

void spectral_free(struct spectral *s)
{
	if (!s)
		return;
	fourier_free(s->fourier);
	free(s->bins);
	free(s->energies);
	free(s->keys);
	free(s->row);
	free(s);
}

/* Every frequency stands for two of the transform, except the highest one of an even length. */
static void find_energies(struct spectral *s)
{
	const size_t n = s->count / 2;

	for (size_t k = 0; k < n; k++) {
		const kiss_fft_cpx b = s->bins[k + 1];

		s->energies[k] = 2.0f * (b.r * b.r + b.i * b.i);
	}
	if (s->count % 2 == 0)
		s->energies[n - 1] *= 0.5f;
}

/* False: no frequency is removed. */
static bool remove_tail(struct spectral *s, double keep)
{
	const size_t n = s->count / 2;
	const double total = purify_sum(s->energies, n);
	const struct energy_tail tail =
		tail_find(s->energies, n, total, (1.0 - keep) * total, s->keys);
	size_t removed = 0;

	s->bins[0] = (kiss_fft_cpx){ 0.0f, 0.0f };
	for (size_t k = 0; k < n; k++) {
		const bool gone = tail_has(&tail, s->energies[k], k);
		const float factor = gone ? 0.0f : 1.0f;

		s->bins[k + 1].r *= factor;
		s->bins[k + 1].i *= factor;
		removed += gone;
	}
	return removed > 0;
}

bool spectral_purify(struct spectral *s, const float *x, float *y, double keep)
{
	struct purify_rest rest = { 0 };
	struct purify_row row;

	if (!(keep < 1.0) || !purify_measure(x, s->count, &row))
		return purify_unchanged(x, s->count, y);
	purify_normalise(&row, x, s->count, s->row);
	fourier_forward(s->fourier, s->row, s->bins);
	find_energies(s);
	if (!remove_tail(s, keep))
		return purify_unchanged(x, s->count, y);
	fourier_inverse(s->fourier, s->bins, s->row);
	purify_add(&rest, s->row, s->count);
	if (!purify_restore(&row, &rest, s->row, s->count, s->most, y))
		return purify_unchanged(x, s->count, y);
	return true;
}
