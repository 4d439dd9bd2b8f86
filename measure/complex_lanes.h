/* SPDX-License-Identifier: MIT */
/* complex_lanes.h - two complex numbers, side by side in the lanes of a vector. */
#ifndef MEASURE_COMPLEX_LANES_H
#define MEASURE_COMPLEX_LANES_H

#include "lanes.h"

#include <kiss_fft.h>

#define PAIR (LANES / 2)

/* A pair of complex factors: real parts, each twice; imaginary parts, the first negated. */
struct factors {
	lanes re, im;
};

static inline lanes pair_load(const kiss_fft_cpx *numbers)
{
	lanes v;

	memcpy(&v, numbers, sizeof(v));
	return v;
}

static inline void pair_store(kiss_fft_cpx *numbers, lanes v)
{
	memcpy(numbers, &v, sizeof(v));
}

static inline lanes pair_swap(lanes v)
{
	return __builtin_shufflevector(v, v, 2, 3, 0, 1);
}

static inline lanes pair_conjugate(lanes v)
{
	return v * (lanes){ 1.0f, -1.0f, 1.0f, -1.0f };
}

/* Multiply by i. */
static inline lanes pair_turn(lanes v)
{
	return __builtin_shufflevector(v, v, 1, 0, 3, 2) * (lanes){ -1.0f, 1.0f, -1.0f, 1.0f };
}

static inline lanes pair_times(lanes v, const struct factors *f)
{
	return v * f->re + __builtin_shufflevector(v, v, 1, 0, 3, 2) * f->im;
}

/* Multiply by the conjugates of the factors. */
static inline lanes pair_times_conjugate(lanes v, const struct factors *f)
{
	return v * f->re - __builtin_shufflevector(v, v, 1, 0, 3, 2) * f->im;
}

static inline void factors_set(struct factors *f, size_t i, kiss_fft_cpx value)
{
	f->re[2 * i] = f->re[2 * i + 1] = value.r;
	f->im[2 * i] = -value.i;
	f->im[2 * i + 1] = value.i;
}

/* exp(-2 pi i numerator / denominator) */
static inline kiss_fft_cpx turn(double numerator, double denominator)
{
	const double angle = 2.0 * M_PI * numerator / denominator;

	return (kiss_fft_cpx){ (float)cos(angle), (float)-sin(angle) };
}

#endif
