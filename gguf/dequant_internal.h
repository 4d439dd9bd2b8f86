/* SPDX-License-Identifier: MIT */
/* dequant_internal.h - definitions that decoders and encoders share. */
#ifndef GGUF_DEQUANT_INTERNAL_H
#define GGUF_DEQUANT_INTERNAL_H

#include "bytes.h"

/* Decodes n blocks. The decoders declare both pointers restrict: only then do compilers make
 * vectors of their loops at -O2. */
typedef void dequant_function(const uint8_t *bytes, uint64_t n, float *out);

static inline float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Load an IEEE binary16 from any address, converted as ggml does (ggml-impl.h): the product makes a
 * signalling NaN quiet, and no operand is subnormal, which would be slow on many processors. */
static inline float load_half(const uint8_t *bytes)
{
	const uint32_t half = load_u16(bytes), magnitude = half & 0x7fff;
	/* The sum puts the ten mantissa bits above 0.5, as multiples of 2^-24. */
	const float small = float_of_bits(0x3f000000 | magnitude) - 0.5f;
	/* Adding 224 to the exponent keeps infinities and NaNs; numbers need 112 of it. */
	const float large = float_of_bits((224u << 23) + (magnitude << 13)) * 0x1p-112f;
	/* For ?: compilers emit a branch around the arithmetic and then no vectors. */
	const uint32_t subnormal = -(uint32_t)(magnitude < 0x0400);

	return float_of_bits((bits_of_float(small) & subnormal) |
			     (bits_of_float(large) & ~subnormal) | (half & 0x8000) << 16);
}

static inline float load_f32(const uint8_t *bytes)
{
	return float_of_bits(load_u32(bytes));
}

/* A power of two with an E8M0 exponent of bias 127, halved because the table of E2M1 values is
 * doubled. The two smallest results are subnormal. */
static inline float e8m0_scale(uint32_t e)
{
	return float_of_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

/* An unsigned E4M3, halved because the table of values is doubled. Bit 7 is ignored, but only 0x7f
 * itself is the NaN that counts as 0. */
static inline float ue4m3_scale(uint8_t x)
{
	const int exponent = x >> 3 & 15, mantissa = x & 7;

	if (x == 0 || x == 0x7f)
		return 0;
	if (exponent == 0)
		return 0.5f * ((float)mantissa * 0x1p-9f);
	return 0.5f * ((1 + (float)mantissa / 8) * float_of_bits((uint32_t)(exponent + 120) << 23));
}

/* Six-bit scales and minima, eight of each, in twelve bytes. The first four scales and minima are
 * the low bits of bytes 0 to 3 and 4 to 7; the top two bits of these bytes belong to the last
 * four. */
static inline void six_bits(const uint8_t *s, int g, int *scale, int *low)
{
	if (g < 4) {
		*scale = s[g] & 63;
		*low = s[g + 4] & 63;
	} else {
		*scale = (s[g + 4] & 15) | s[g - 4] >> 6 << 4;
		*low = s[g + 4] >> 4 | s[g] >> 6 << 4;
	}
}

/* dequant.c */
dequant_function dequant_f64, dequant_f32, dequant_f16, dequant_bf16, dequant_i8, dequant_i16,
	dequant_i32, dequant_i64;

/* dequant_simple.c: blocks of 32 to 128 elements, and ternary ones */
dequant_function dequant_q4_0, dequant_q4_1, dequant_q5_0, dequant_q5_1, dequant_q8_0,
	dequant_iq4_nl, dequant_mxfp4, dequant_nvfp4, dequant_q1_0, dequant_q2_0, dequant_tq1_0,
	dequant_tq2_0;

/* dequant_k.c */
dequant_function dequant_q2_k, dequant_q3_k, dequant_q4_k, dequant_q5_k, dequant_q6_k, dequant_q8_k;

/* dequant_iq.c */
dequant_function dequant_iq1_s, dequant_iq1_m, dequant_iq2_xxs, dequant_iq2_xs, dequant_iq2_s,
	dequant_iq3_xxs, dequant_iq3_s, dequant_iq4_xs;

#endif
