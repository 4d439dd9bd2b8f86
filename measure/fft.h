/* SPDX-License-Identifier: MIT */
/* fft.h - the discrete Fourier transform of lengths that have no prime factor but 2, 3 and 5. Short
 * ones are KissFFT's; fours of them are joined, and fours of these, by vector arithmetic that is
 * several times as quick. */
#ifndef MEASURE_FFT_H
#define MEASURE_FFT_H

#include <kiss_fft.h>
#include <stddef.h>

/* For one length; any number of threads may use it at once. */
struct fft;

/* length: below 2^31. NULL: no memory. */
struct fft *fft_new(size_t length);
void fft_free(struct fft *fft);

/* out[k] = sum over t of in[t * stride] exp(-2 pi i k t / length); stride below 2^31. in and out do
 * not overlap. */
void fft_run(const struct fft *fft, const kiss_fft_cpx *in, size_t stride, kiss_fft_cpx *out);

#endif
