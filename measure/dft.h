/* SPDX-License-Identifier: MIT */
/* dft.h - the discrete Fourier transform of any length, in single precision:
 *
 *	out[k] = sum over t of in[t] exp(-2 pi i k t / length)
 *
 * Models have rows of 11008 = 2^8 43 values, and KissFFT's cost for a prime factor grows with the
 * factor. A length q * m, where m has the factors 2, 3 and 5 and q has none of them, takes q
 * transforms of length m (fft.h), joined by transforms of length q, several at a time. If q is
 * large, Bluestein's convolution is used instead, so that the cost is n log n for every length. */
#ifndef MEASURE_DFT_H
#define MEASURE_DFT_H

#include <kiss_fft.h>
#include <stddef.h>

/* the greatest length that KissFFT can handle */
#define DFT_MOST ((size_t)1 << 28)

/* A transform of one length; one thread at a time. */
struct dft;

/* length: 1 to DFT_MOST. NULL: out of memory, or too long. */
struct dft *dft_new(size_t length);
void dft_free(struct dft *dft);

/* in and out must not overlap. */
void dft_run(struct dft *dft, const kiss_fft_cpx *in, kiss_fft_cpx *out);

#endif
