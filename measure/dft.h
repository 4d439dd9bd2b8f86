/* SPDX-License-Identifier: MIT */
/* dft.h - the discrete Fourier transform of any length, in single precision:
 *
 *	out[k] = sum over t of in[t] exp(-2 pi i k t / length)
 *
 * There are rows of 11008 = 2^8 43 values, and KissFFT's effort for a prime factor grows with it. A
 * length q * m, where m has the factors 2, 3 and 5 and q has none of them, takes q transforms of
 * length m (fft.h), joined by those of length q, several at a time. Where q is large, a convolution
 * takes the place of all this (Bluestein's algorithm), so that the effort is n log n for every
 * length. */
#ifndef MEASURE_DFT_H
#define MEASURE_DFT_H

#include <kiss_fft.h>
#include <stddef.h>

/* Longer ones KissFFT cannot number. */
#define DFT_MOST ((size_t)1 << 28)

/* For one length. Not for two threads at once. */
struct dft;

/* Of a length from 1 to DFT_MOST. NULL: no memory, or too long. */
struct dft *dft_new(size_t length);
void dft_free(struct dft *dft);

/* in and out do not overlap. */
void dft_run(struct dft *dft, const kiss_fft_cpx *in, kiss_fft_cpx *out);

#endif
