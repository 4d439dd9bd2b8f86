/* SPDX-License-Identifier: MIT */
/* quant_internal.h - conversions, lanes and searches that the encoders share. */
#ifndef GGUF_QUANT_INTERNAL_H
#define GGUF_QUANT_INTERNAL_H

#include "dequant_internal.h"

#include <math.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

/* Encodes a row of n values: see quant_row(). */
typedef void quant_function(const float *values, uint64_t n, const float *importance,
			    uint8_t *bytes);

/* quant.c */
quant_function quant_f32, quant_f16, quant_bf16;

/* quant_simple.c: blocks with one scale, or a scale and a minimum, and ternary ones */
quant_function quant_q4_0, quant_q4_1, quant_q5_0, quant_q5_1, quant_q8_0, quant_q1_0, quant_q2_0,
	quant_tq1_0, quant_tq2_0;

/* quant_fp4.c: codebooks of sixteen values */
quant_function quant_mxfp4, quant_nvfp4, quant_iq4_nl, quant_iq4_xs;

/* quant_k.c */
quant_function quant_q2_k, quant_q3_k, quant_q4_k, quant_q5_k, quant_q6_k;

/* quant_iq1.c */
quant_function quant_iq1_m;

/* quant_iq3.c */
quant_function quant_iq3_xxs, quant_iq3_s;

/* Conversions. */

static inline void store_u16(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

/* IEEE binary16, rounded to nearest even; from 65520 on infinity. Every NaN becomes the quiet NaN
 * of its sign, as in ggml_compute_fp32_to_fp16(); F16C would keep upper bits. No branches, so that
 * compilers convert several values at once. */
static inline void store_half(uint8_t *bytes, float value)
{
	const uint32_t bits = bits_of_float(value), magnitude = bits & 0x7fffffff;
	/* The exponent's bias changes from 127 to 15. */
	const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	/* At 0.5 the last bit of a float has the value of the last bit of a subnormal half. */
	const uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000;
	const uint32_t large = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
	const uint32_t finite = magnitude < 0x38800000 ? small : normal;

	store_u16(bytes, (bits >> 16 & 0x8000) | (magnitude < 0x47800000 ? finite : large));
}

/* nearest_int(): the nearest integer, ties to even, for magnitudes up to 2^22. Larger ones, which
 * ggml does not expect, give the low bits of the sum. */
static inline int nearest(float value)
{
	return (int)(bits_of_float(value + 12582912.0f) & 0x007fffff) - 0x00400000;
}

/* Truncate towards zero. A NaN, and a value that does not fit, give INT32_MIN. */
static inline int32_t truncate(float value)
{
	return (int32_t)(fabsf(value) < 0x1p31f ? value : -0x1p31f);
}

/* The float before 0.5, with the sign of value. Truncating value + half_away() is roundf(); adding
 * 0.5 itself would round the float before 0.5 up to 1. */
static inline float half_away(float value)
{
	return copysignf(0x1.fffffep-2f, value);
}

static inline int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

/* Lanes: a search works on four blocks at once, element i of each block in one vector, so that the
 * order of the operations of each block is that of ggml. */

#define LANES 4

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t int_lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

static inline lanes lanes_all(float value)
{
	return (lanes){ value, value, value, value };
}

/* Select a where all bits of mask are set, else b. */
static inline lanes lanes_pick(int_lanes mask, lanes a, lanes b)
{
	return (lanes)(((int_lanes)a & mask) | ((int_lanes)b & ~mask));
}

/* a < b ? a : b */
static inline lanes lanes_min(lanes a, lanes b)
{
#ifdef __SSE__
	return (lanes)_mm_min_ps((__m128)a, (__m128)b);
#else
	return lanes_pick(a < b, a, b);
#endif
}

/* a > b ? a : b */
static inline lanes lanes_max(lanes a, lanes b)
{
#ifdef __SSE__
	return (lanes)_mm_max_ps((__m128)a, (__m128)b);
#else
	return lanes_pick(a > b, a, b);
#endif
}

static inline lanes lanes_sqrt(lanes v)
{
#ifdef __SSE__
	return (lanes)_mm_sqrt_ps((__m128)v);
#else
	return (lanes){ sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3]) };
#endif
}

static inline lanes lanes_abs(lanes v)
{
	return (lanes)((int_lanes)v & 0x7fffffff);
}

/* nearest(), then the clamp to [low, high]. */
static inline lanes lanes_level(lanes v, float low, float high)
{
	const int_lanes bits = (int_lanes)(v + 12582912.0f);
	const int_lanes whole = (bits & 0x007fffff) - 0x00400000;
	const lanes level = __builtin_convertvector(whole, lanes);

	return lanes_max(lanes_min(level, lanes_all(high)), lanes_all(low));
}

static inline bool lanes_any(int_lanes mask)
{
	return mask[0] | mask[1] | mask[2] | mask[3];
}

/* The longest part of a superblock, or block, that has a scale of its own. */
#define PART_MAX 32

/* Four parts and their weights, by lanes. */
struct parts {
	lanes x[PART_MAX], weights[PART_MAX];
};

/* Load count parts of size values each, at most four; the rest of the lanes repeats the first. */
void parts_load(lanes *to, const float *values, unsigned size, unsigned count);

/* weights = importance * sqrt(sigma2 + x * x) */
void parts_weigh(struct parts *parts, const float *importance, lanes sigma2, unsigned size,
		 unsigned count);

/* weights = x * x */
void parts_square(struct parts *parts, unsigned size);

/* The sum of n squares. */
float sum_of_squares(const float *values, uint64_t n);

/* The sums of the squares, and of the weights, of each part. */
lanes parts_squares(const struct parts *parts, unsigned size);
lanes parts_weights(const struct parts *parts, unsigned size);

/* Levels of four parts, part by part, as integers. */
void parts_levels(const lanes *levels, unsigned size, unsigned count, uint8_t *to);

/* The element with the largest magnitude, the first of several, and the magnitude. */
lanes parts_extreme(const struct parts *parts, unsigned size, lanes *magnitude);

/* A part counts as zero if all magnitudes are below this one (GROUP_MAX_EPS). */
#define MAGNITUDE_MIN 1e-15f

/* make_qx_quants(), of rmse_type 1 with the weights given: the scale with the least weighted error
 * for levels from 0 to 2 * half - 1, where half stands for zero: x is about
 * scale * (level - half). The levels of a part that counts as zero are 0. */
lanes search_scale(const struct parts *parts, unsigned size, int half, lanes *levels);

/* make_q3_quants(), with do_rmse: like search_scale(), by changes of single levels. */
lanes search_scale_q3(const struct parts *parts, unsigned size, int half, lanes *levels);

struct minimum_search {
	int levels; /* the largest level */
	float first, step;
	int steps;     /* the largest level is varied by first + step * i, i from 0 to steps */
	bool absolute; /* the error is of magnitudes, not of squares */
};

/* make_qkx2_quants() and make_qkx3_quants(): the scale and the minimum, not above 0, with the least
 * weighted error: x is about scale * level - low. */
lanes search_minimum(const struct minimum_search *search, const struct parts *parts, unsigned size,
		     lanes *levels, lanes *low);

/* make_qp_quants(): the scale for n values of weights that have levels from 0 to most. */
float search_positive(const float *x, const float *weights, int n, int most, uint8_t *levels);

#endif
