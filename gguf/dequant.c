/* SPDX-License-Identifier: MIT */
/* dequant.c - see dequant.h: the table of decoders, and the plain types. */
#include "dequant.h"
#include "dequant_internal.h"
#include "types.h"

#include <assert.h>
#include <stddef.h>

/* The longest block of any type, elements. */
#define BLOCK_MAX 256

void dequant_f64(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t bits = load_u64(bytes + 8 * i);
		double value;

		memcpy(&value, &bits, sizeof(value));
		out[i] = (float)value;
	}
}

void dequant_f32(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++)
		out[i] = load_f32(bytes + 4 * i);
}

/* In the two common types sixteen at a time, a constant count that compilers make vectors of. */
void dequant_f16(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (; n >= 16; n -= 16, bytes += 32, out += 16) {
		for (int i = 0; i < 16; i++)
			out[i] = load_half(bytes + 2 * i);
	}
	for (uint64_t i = 0; i < n; i++)
		out[i] = load_half(bytes + 2 * i);
}

/* The high half of a binary32. */
static inline float load_bf16(const uint8_t *bytes)
{
	return float_of_bits((uint32_t)load_u16(bytes) << 16);
}

void dequant_bf16(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (; n >= 16; n -= 16, bytes += 32, out += 16) {
		for (int i = 0; i < 16; i++)
			out[i] = load_bf16(bytes + 2 * i);
	}
	for (uint64_t i = 0; i < n; i++)
		out[i] = load_bf16(bytes + 2 * i);
}

void dequant_i8(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++)
		out[i] = (float)(int8_t)bytes[i];
}

void dequant_i16(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++)
		out[i] = (float)(int16_t)load_u16(bytes + 2 * i);
}

void dequant_i32(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++)
		out[i] = (float)(int32_t)load_u32(bytes + 4 * i);
}

void dequant_i64(const uint8_t *restrict bytes, uint64_t n, float *restrict out)
{
	for (uint64_t i = 0; i < n; i++)
		out[i] = (float)(int64_t)load_u64(bytes + 8 * i);
}

static dequant_function *const decoders[GGML_TYPES] = {
	[GGML_F32] = dequant_f32,	[GGML_F16] = dequant_f16,
	[GGML_Q4_0] = dequant_q4_0,	[GGML_Q4_1] = dequant_q4_1,
	[GGML_Q5_0] = dequant_q5_0,	[GGML_Q5_1] = dequant_q5_1,
	[GGML_Q8_0] = dequant_q8_0,	[GGML_Q2_K] = dequant_q2_k,
	[GGML_Q3_K] = dequant_q3_k,	[GGML_Q4_K] = dequant_q4_k,
	[GGML_Q5_K] = dequant_q5_k,	[GGML_Q6_K] = dequant_q6_k,
	[GGML_Q8_K] = dequant_q8_k,	[GGML_IQ2_XXS] = dequant_iq2_xxs,
	[GGML_IQ2_XS] = dequant_iq2_xs, [GGML_IQ3_XXS] = dequant_iq3_xxs,
	[GGML_IQ1_S] = dequant_iq1_s,	[GGML_IQ4_NL] = dequant_iq4_nl,
	[GGML_IQ3_S] = dequant_iq3_s,	[GGML_IQ2_S] = dequant_iq2_s,
	[GGML_IQ4_XS] = dequant_iq4_xs, [GGML_I8] = dequant_i8,
	[GGML_I16] = dequant_i16,	[GGML_I32] = dequant_i32,
	[GGML_I64] = dequant_i64,	[GGML_F64] = dequant_f64,
	[GGML_IQ1_M] = dequant_iq1_m,	[GGML_BF16] = dequant_bf16,
	[GGML_TQ1_0] = dequant_tq1_0,	[GGML_TQ2_0] = dequant_tq2_0,
	[GGML_MXFP4] = dequant_mxfp4,	[GGML_NVFP4] = dequant_nvfp4,
	[GGML_Q1_0] = dequant_q1_0,	[GGML_Q2_0] = dequant_q2_0,
};

static_assert(sizeof(decoders) / sizeof(decoders[0]) == GGML_TYPES, "one row a type id");

bool dequant_supported(uint32_t type)
{
	return type < GGML_TYPES && decoders[type];
}

void dequant_blocks(uint32_t type, const void *bytes, uint64_t n, float *out)
{
	decoders[type](bytes, n, out);
}

void dequant_range(uint32_t type, const void *bytes, uint64_t skip, uint64_t count, float *out)
{
	const struct type_info *info = type_find(type);
	const uint64_t elements = info->block_elements;
	const uint8_t *at = bytes;
	float block[BLOCK_MAX];

	while (count) {
		uint64_t n = count / elements * elements;

		if (skip || n == 0) {
			n = elements - skip < count ? elements - skip : count;
			dequant_blocks(type, at, 1, block);
			memcpy(out, block + skip, (size_t)n * sizeof(*out));
			at += info->block_bytes;
			skip = 0;
		} else {
			dequant_blocks(type, at, n / elements, out);
			at += n / elements * info->block_bytes;
		}
		out += n;
		count -= n;
	}
}
