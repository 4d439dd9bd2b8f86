/* SPDX-License-Identifier: MIT */
/* fourier.h - the discrete Fourier transform of real values, of any length (dft.h), and back. */
#ifndef MEASURE_FOURIER_H
#define MEASURE_FOURIER_H

#include <kiss_fft.h>
#include <stddef.h>

/* For one length. Not for two threads at once. */
struct fourier;

/* Of 1 to 2 * DFT_MOST values, an odd number up to DFT_MOST. NULL: no memory, or too long. */
struct fourier *fourier_new(size_t count);
void fourier_free(struct fourier *fourier);

/* How many frequencies there are: count / 2 + 1. */
size_t fourier_bins(const struct fourier *fourier);

/* bins[k] = sum over t of x[t] exp(-2 pi i k t / count) */
void fourier_forward(struct fourier *fourier, const float *x, kiss_fft_cpx *bins);

/* The values of which bins is the transform, times count. */
void fourier_inverse(struct fourier *fourier, const kiss_fft_cpx *bins, float *x);

#endif
