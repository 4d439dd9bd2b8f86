/* SPDX-License-Identifier: MIT */
/* fourier.c - see fourier.h. An even number of values is transformed as half as many complex ones,
 * each an even value and the next odd one; the two spectra are separated by their symmetry. The
 * inverse is a forward transform of the bins in reverse order. */
#include "fourier.h"

#include "complex_lanes.h"
#include "dft.h"

#include <stdbool.h>
#include <stdlib.h>

struct fourier {
	size_t count;
	size_t length; /* length of the complex transform */
	struct dft *dft;
	kiss_fft_cpx *in, *out; /* one more element: pairs are formed from the second on */
	struct factors *turns;	/* even: -i exp(-2 pi i k / count) of the pairs up to length / 2 */
};

static bool prepare_turns(struct fourier *f)
{
	const size_t pairs = (f->length / 2 + PAIR - 1) / PAIR;

	f->turns = calloc(pairs + 1, sizeof(*f->turns));
	if (!f->turns)
		return false;
	for (size_t k = 0; k < pairs * PAIR; k++) {
		const kiss_fft_cpx t = turn((double)(k + 1), (double)f->count);

		factors_set(&f->turns[k / PAIR], k % PAIR, (kiss_fft_cpx){ t.i, -t.r });
	}
	return true;
}

struct fourier *fourier_new(size_t count)
{
	struct fourier *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->count = count;
	f->length = count % 2 ? count : count / 2;
	f->dft = dft_new(f->length);
	if (!f->dft)
		goto fail;
	f->in = calloc(f->length + 1, sizeof(*f->in));
	f->out = calloc(f->length + 1, sizeof(*f->out));
	if (!f->in || !f->out || (count % 2 == 0 && !prepare_turns(f)))
		goto fail;
	return f;
fail:
	fourier_free(f);
	return NULL;
}

void fourier_free(struct fourier *f)
{
	if (!f)
		return;
	dft_free(f->dft);
	free(f->in);
	free(f->out);
	free(f->turns);
	free(f);
}

size_t fourier_bins(const struct fourier *f)
{
	return f->count / 2 + 1;
}

static void forward_odd(struct fourier *f, const float *x, kiss_fft_cpx *bins)
{
	for (size_t t = 0; t < f->count; t++)
		f->in[t] = (kiss_fft_cpx){ x[t], 0.0f };
	dft_run(f->dft, f->in, f->out);
	memcpy(bins, f->out, fourier_bins(f) * sizeof(*bins));
}

static void inverse_odd(struct fourier *f, const kiss_fft_cpx *bins, float *x)
{
	const size_t n = f->count;

	f->in[0] = bins[0];
	for (size_t k = 1; k <= n / 2; k++) {
		f->in[n - k] = bins[k];
		f->in[k] = (kiss_fft_cpx){ bins[k].r, -bins[k].i };
	}
	dft_run(f->dft, f->in, f->out);
	for (size_t t = 0; t < n; t++)
		x[t] = f->out[t].r;
}

/* With E and O the spectra of the even and the odd values, and w the turn: out[k] = E + iO, and
 * out[length - k] its conjugates; bins[k] = E + wO, and bins[length - k] the conjugate of E - wO.
 * The pairs in the middle may be computed twice; the outermost bins are computed last. */
static void forward_even(struct fourier *f, const float *x, kiss_fft_cpx *bins)
{
	const size_t n = f->length;
	const kiss_fft_cpx *z = f->out;

	memcpy(f->in, x, n * sizeof(*f->in));
	dft_run(f->dft, f->in, f->out);
	for (size_t k = 1; k <= n / 2; k += PAIR) {
		const lanes a = pair_load(z + k);
		const lanes b = pair_conjugate(pair_swap(pair_load(z + n - k - 1)));
		const lanes even = 0.5f * (a + b);
		const lanes odd = pair_times(0.5f * (a - b), &f->turns[k / PAIR]);

		pair_store(bins + k, even + odd);
		pair_store(bins + n - k - 1, pair_swap(pair_conjugate(even - odd)));
	}
	bins[0] = (kiss_fft_cpx){ z[0].r + z[0].i, 0.0f };
	bins[n] = (kiss_fft_cpx){ z[0].r - z[0].i, 0.0f };
}

static void inverse_even(struct fourier *f, const kiss_fft_cpx *bins, float *x)
{
	const size_t n = f->length;
	kiss_fft_cpx *z = f->in;

	for (size_t k = 1; k <= n / 2; k += PAIR) {
		const lanes a = pair_load(bins + k);
		const lanes b = pair_conjugate(pair_swap(pair_load(bins + n - k - 1)));
		const lanes even = a + b;
		const lanes odd = pair_times_conjugate(a - b, &f->turns[k / PAIR]);

		pair_store(z + n - k - 1, pair_swap(even + odd));
		pair_store(z + k, pair_conjugate(even - odd));
	}
	z[0] = (kiss_fft_cpx){ bins[0].r + bins[n].r, bins[0].r - bins[n].r };
	dft_run(f->dft, f->in, f->out);
	memcpy(x, f->out, n * sizeof(*f->out));
}

void fourier_forward(struct fourier *f, const float *x, kiss_fft_cpx *bins)
{
	if (f->count % 2)
		forward_odd(f, x, bins);
	else
		forward_even(f, x, bins);
}

void fourier_inverse(struct fourier *f, const kiss_fft_cpx *bins, float *x)
{
	if (f->count % 2)
		inverse_odd(f, bins, x);
	else
		inverse_even(f, bins, x);
}
