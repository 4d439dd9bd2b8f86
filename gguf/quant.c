/* SPDX-License-Identifier: MIT */
/* quant.c - see quant.h: the table of encoders, and the plain types. */
#include "quant.h"
#include "quant_internal.h"
#include "types.h"

#include <assert.h>
#include <float.h>

void quant_f32(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (uint64_t i = 0; i < n; i++)
		store_u32(b + 4 * i, bits_of_float(x[i]));
}

void quant_f16(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (uint64_t i = 0; i < n; i++)
		store_half(b + 2 * i, x[i]);
}

/* ggml_fp32_to_bf16_row_ref(): the upper half of the float, rounded to nearest even. A NaN keeps
 * its upper bits and becomes quiet. */
void quant_bf16(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (uint64_t i = 0; i < n; i++) {
		const uint32_t bits = bits_of_float(x[i]);
		const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
		const uint32_t quiet = bits >> 16 | 0x40;

		store_u16(b + 2 * i, (bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
	}
}

static quant_function *const encoders[GGML_TYPES] = {
	[GGML_F32] = quant_f32,		[GGML_F16] = quant_f16,	      [GGML_Q4_0] = quant_q4_0,
	[GGML_Q4_1] = quant_q4_1,	[GGML_Q5_0] = quant_q5_0,     [GGML_Q5_1] = quant_q5_1,
	[GGML_Q8_0] = quant_q8_0,	[GGML_Q2_K] = quant_q2_k,     [GGML_Q3_K] = quant_q3_k,
	[GGML_Q4_K] = quant_q4_k,	[GGML_Q5_K] = quant_q5_k,     [GGML_Q6_K] = quant_q6_k,
	[GGML_IQ3_XXS] = quant_iq3_xxs, [GGML_IQ4_NL] = quant_iq4_nl, [GGML_IQ3_S] = quant_iq3_s,
	[GGML_IQ4_XS] = quant_iq4_xs,	[GGML_IQ1_M] = quant_iq1_m,   [GGML_BF16] = quant_bf16,
	[GGML_TQ1_0] = quant_tq1_0,	[GGML_TQ2_0] = quant_tq2_0,   [GGML_MXFP4] = quant_mxfp4,
	[GGML_NVFP4] = quant_nvfp4,	[GGML_Q1_0] = quant_q1_0,     [GGML_Q2_0] = quant_q2_0,
};

bool quant_supported(uint32_t type)
{
	return type < GGML_TYPES && encoders[type];
}

bool quant_needs_importance(uint32_t type)
{
	return type == GGML_IQ1_M || type == GGML_IQ3_XXS;
}

bool quant_weighs(uint32_t type)
{
	switch (type) {
	case GGML_F32:
	case GGML_F16:
	case GGML_BF16:
	case GGML_Q8_0:
	case GGML_Q1_0:
	case GGML_Q2_0:
	case GGML_TQ1_0:
	case GGML_TQ2_0:
	case GGML_MXFP4:
	case GGML_NVFP4:
		return false;
	default:
		return true;
	}
}

float quant_max(uint32_t type)
{
	const float half_max = 65504.0f;

	switch (type) {
	case GGML_F32:
		return FLT_MAX;
	case GGML_BF16:
		return 0x1.fep127f;
	case GGML_Q8_0:
		return 127.0f * half_max;
	default:
		return half_max;
	}
}

void quant_row(uint32_t type, const float *values, uint64_t n, const float *importance,
	       uint8_t *bytes)
{
	encoders[type](values, n, importance, bytes);
}
