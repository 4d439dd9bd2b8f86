/* SPDX-License-Identifier: MIT */
/* encode.c - see encode.h. */
#include "fs/tensor/encode.h"
#include "measure/quantise.h"

#include <float.h>
#include <string.h>

uint32_t encode_type(uint32_t type, uint64_t row)
{
	if (type == GGML_F32 || type == GGML_F16 || type == GGML_BF16)
		return type;
	return row % QUANTISE_Q8_0_VALUES == 0 ? GGML_Q8_0 : GGML_F16;
}

float encode_max(uint32_t type)
{
	switch (type) {
	case GGML_F32:
		return FLT_MAX;
	case GGML_BF16:
		return QUANTISE_BF16_MOST;
	case GGML_Q8_0:
		return QUANTISE_Q8_0_MOST;
	default:
		return QUANTISE_F16_MOST;
	}
}

void encode(uint32_t type, const float *values, size_t count, uint8_t *bytes)
{
	switch (type) {
	case GGML_F32:
		memcpy(bytes, values, count * sizeof(*values));
		break;
	case GGML_BF16:
		quantise_bf16(values, count, bytes);
		break;
	case GGML_Q8_0:
		quantise_q8_0(values, count, bytes);
		break;
	default:
		quantise_f16(values, count, bytes);
	}
}
