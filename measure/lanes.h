/* SPDX-License-Identifier: MIT */
/* lanes.h - vectors of four floats. */
#ifndef MEASURE_LANES_H
#define MEASURE_LANES_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define LANES 4

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* The same numbers in double precision. Not for arguments, because their passing depends on the
 * target's vector registers. Sums are kept as halves, which fit registers on every target. */
typedef double wide_lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double half_lanes __attribute__((vector_size(LANES / 2 * sizeof(double))));

/* Result of a comparison of two halves: all bits of a number set, or none. */
typedef __typeof__((half_lanes){ 0 } > (half_lanes){ 0 }) half_masks;

#define lanes_widen(v)	 __builtin_convertvector(v, wide_lanes)
#define lanes_narrow(v)	 __builtin_convertvector(v, lanes)
#define lanes_low(wide)	 __builtin_shufflevector(wide, wide, 0, 1)
#define lanes_high(wide) __builtin_shufflevector(wide, wide, 2, 3)

static inline lanes lanes_all(float value)
{
	return (lanes){ value, value, value, value };
}

static inline lanes lanes_load(const float *values)
{
	lanes v;

	memcpy(&v, values, sizeof(v));
	return v;
}

static inline void lanes_store(float *values, lanes v)
{
	memcpy(values, &v, sizeof(v));
}

static inline half_lanes half_lanes_load(const double *values)
{
	half_lanes v;

	memcpy(&v, values, sizeof(v));
	return v;
}

static inline void half_lanes_store(double *values, half_lanes v)
{
	memcpy(values, &v, sizeof(v));
}

static inline lanes lanes_sqrt(lanes v)
{
#ifdef __SSE__
	return (lanes)_mm_sqrt_ps((__m128)v);
#else
	return (lanes){ sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3]) };
#endif
}

static inline lanes lanes_min(lanes a, lanes b)
{
#ifdef __SSE__
	return (lanes)_mm_min_ps((__m128)a, (__m128)b);
#else
	return (lanes){ fminf(a[0], b[0]), fminf(a[1], b[1]), fminf(a[2], b[2]),
			fminf(a[3], b[3]) };
#endif
}

static inline lanes lanes_max(lanes a, lanes b)
{
#ifdef __SSE__
	return (lanes)_mm_max_ps((__m128)a, (__m128)b);
#else
	return (lanes){ fmaxf(a[0], b[0]), fmaxf(a[1], b[1]), fmaxf(a[2], b[2]),
			fmaxf(a[3], b[3]) };
#endif
}

/* Transpose. */
static inline void lanes_transpose(lanes v[LANES])
{
	const lanes a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
	const lanes b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
	const lanes c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
	const lanes d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);

	v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
	v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
	v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
	v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

#endif
