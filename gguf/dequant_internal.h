/* SPDX-License-Identifier: MIT */
/* dequant_internal.h - what the decoders share. */
#ifndef GGUF_DEQUANT_INTERNAL_H
#define GGUF_DEQUANT_INTERNAL_H

#include "bytes.h"
#include "dequant.h"

/* Decodes n blocks. */
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

/* IEEE binary16 at any address. A normal half is a float with another bias; a subnormal one counts
 * units of 2^-24, which are the last bits of a float between a half and one; infinities and NaNs
 * keep their bits. All three by masks, without a branch and without a subnormal float, so that
 * loops over halves become vectors and none of them is slow. */
static inline float load_half(const uint8_t *bytes)
{
	const uint32_t half = load_u16(bytes), magnitude = half & 0x7fff;
	/* All bits set where the difference is negative. */
	const uint32_t is_subnormal = 0 - ((magnitude - 0x0400) >> 31);
	const uint32_t is_special = 0 - ((0x7bff - magnitude) >> 31);
	const uint32_t normal = (magnitude << 13) + (112u << 23);
	const uint32_t subnormal = bits_of_float(float_of_bits(magnitude | 0x3f000000) - 0.5f);
	uint32_t bits;

	bits = (subnormal & is_subnormal) | (normal & ~is_subnormal) | (is_special & 0x7f800000);
	return float_of_bits(bits | (half & 0x8000) << 16);
}

static inline float load_f32(const uint8_t *bytes)
{
	return float_of_bits(load_u32(bytes));
}

/* Byte i of a grid entry, as a signed number. */
static inline int grid_byte(uint64_t entry, int i)
{
	return (int8_t)(entry >> (8 * i));
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
