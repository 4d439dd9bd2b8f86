/* SPDX-License-Identifier: MIT */
/* quantise.c - see quantise.h. Without branches, so that compilers can work on several values at
 * once. */
#include "quantise.h"

#include <math.h>
#include <string.h>

static inline uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline void store_u16(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

#define HALF_BIAS   (((uint32_t)127 - 15) << 23)
#define FLOAT_INF   0x7f800000u
#define HALF_INF    0x7c00u
#define HALF_QUIET  0x7e00u
#define FIRST_INF   0x47800000u /* 65536, from where the exponent does not fit */
#define FIRST_WHOLE 0x38800000u /* 2^-14, the first that is not subnormal */

static inline uint32_t half_of(float value)
{
	const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
	const uint32_t normal = (magnitude - HALF_BIAS + 0xfff + (magnitude >> 13 & 1)) >> 13;
	/* At 0.5 the last bit of a float is worth what the last bit of a subnormal half is. */
	const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
	const uint32_t large = magnitude > FLOAT_INF ? HALF_QUIET : HALF_INF;
	const uint32_t finite = magnitude < FIRST_WHOLE ? small : normal;

	return (bits >> 16 & 0x8000) | (magnitude < FIRST_INF ? finite : large);
}

void quantise_f16(const float *values, size_t count, uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++)
		store_u16(bytes + 2 * i, half_of(values[i]));
}

void quantise_bf16(const float *values, size_t count, uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t bits = bits_of(values[i]);
		const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
		const uint32_t quiet = bits >> 16 | 0x40;

		store_u16(bytes + 2 * i, (bits & 0x7fffffff) > FLOAT_INF ? quiet : nearest);
	}
}

/* A NaN hides what came before it. */
static float largest_magnitude(const float *values)
{
	float largest = 0.0f;

	for (size_t i = 0; i < QUANTISE_Q8_0_VALUES; i++) {
		const float magnitude = fabsf(values[i]);

		largest = largest > magnitude ? largest : magnitude;
	}
	return largest;
}

/* To the nearest, of two the one farther from 0. What is added is the float before 0.5: with 0.5
 * itself the sum for that float would be rounded up to 1. */
static inline int8_t round_to_byte(float quotient)
{
	const float half = copysignf(0x1.fffffep-2f, quotient);
	const float fitting = fabsf(quotient) < 128.0f ? quotient : 0.0f;

	return (int8_t)(int32_t)(fitting + half);
}

void quantise_q8_0(const float *values, size_t count, uint8_t *bytes)
{
	for (size_t i = 0; i < count; i += QUANTISE_Q8_0_VALUES) {
		const float scale = largest_magnitude(values + i) / 127.0f;
		const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;

		store_u16(bytes, half_of(scale));
		for (size_t j = 0; j < QUANTISE_Q8_0_VALUES; j++)
			bytes[2 + j] = (uint8_t)round_to_byte(values[i + j] * inverse);
		bytes += QUANTISE_Q8_0_BYTES;
	}
}
