/* SPDX-License-Identifier: MIT */
/* fourier.h - the discrete Fourier transform of real values, any length (dft.h), and its
 * inverse. */
#ifndef MEASURE_FOURIER_H
#define MEASURE_FOURIER_H

#include <kiss_fft.h>
#include <stddef.h>

/* A transform of one length; one thread at a time. */
struct fourier;

/* count: 1 to 2 * DFT_MOST, if odd up to DFT_MOST. NULL: out of memory, or too long. */
struct fourier *fourier_new(size_t count);
void fourier_free(struct fourier *fourier);

/* Number of frequencies: count / 2 + 1. */
size_t fourier_bins(const struct fourier *fourier);

/* bins[k] = sum over t of x[t] exp(-2 pi i k t / count) */
void fourier_forward(struct fourier *fourier, const float *x, kiss_fft_cpx *bins);

/* The values whose transform bins is, multiplied by count. */
void fourier_inverse(struct fourier *fourier, const kiss_fft_cpx *bins, float *x);

#endif
