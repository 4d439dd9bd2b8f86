/* SPDX-License-Identifier: MIT */
/* fft.h - the discrete Fourier transform for lengths without prime factors other than 2, 3 and 5.
 * KissFFT transforms the short ones; four transforms at a time are then joined by vector
 * arithmetic, which is several times as fast. */
#ifndef MEASURE_FFT_H
#define MEASURE_FFT_H

#include <kiss_fft.h>
#include <stddef.h>

/* A transform of one length; any number of threads may use it concurrently. */
struct fft;

/* length: below 2^31. NULL: out of memory. */
struct fft *fft_new(size_t length);
void fft_free(struct fft *fft);

/* out[k] = sum over t of in[t * stride] exp(-2 pi i k t / length). stride is below 2^31; in and out
 * must not overlap. */
void fft_run(const struct fft *fft, const kiss_fft_cpx *in, size_t stride, kiss_fft_cpx *out);

#endif
