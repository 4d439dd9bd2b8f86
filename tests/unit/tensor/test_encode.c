/* SPDX-License-Identifier: MIT */
/* test_encode.c - fs/tensor/encode.c: which type computed values get, and that they are of it. */
#include "fs/tensor/encode.h"
#include "gguf/dequant.h"
#include "tests/unit/unit.h"

#include <math.h>

static void floats_keep_their_type_and_anything_else_is_q8_0_or_f16(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		const bool stays = type == GGML_F32 || type == GGML_F16 || type == GGML_BF16;

		assert_int_equal(encode_type(type, 96), stays ? type : GGML_Q8_0);
		assert_int_equal(encode_type(type, 100), stays ? type : GGML_F16);
	}
}

static void what_is_encoded_decodes_to_about_the_same(void **state)
{
	static const struct {
		uint32_t type;
		double error; /* relative to the largest */
	} types[] = {
		{ GGML_F32, 0 },
		{ GGML_F16, 1.0 / 2048 },
		{ GGML_BF16, 1.0 / 256 },
		{ GGML_Q8_0, 1.01 / 254 },
	};
	float values[64], back[64];
	uint8_t bytes[64 * 4 + 1];

	(void)state;
	for (int i = 0; i < 64; i++)
		values[i] = (float)((i * 37 % 64 - 32) / 32.0);
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		encode(types[i].type, values, 64, bytes + 1);
		dequant_blocks(types[i].type, bytes + 1,
			       64 / type_find(types[i].type)->block_elements, back);
		for (int k = 0; k < 64; k++) {
			const double off = (double)back[k] - (double)values[k];

			assert_true(off <= types[i].error && -off <= types[i].error);
		}
	}
}

static void the_largest_value_of_a_type_is_finite_in_it(void **state)
{
	static const uint32_t types[] = { GGML_F32, GGML_F16, GGML_BF16, GGML_Q8_0 };
	float values[32], back[32];
	uint8_t bytes[32 * 4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		for (int k = 0; k < 32; k++)
			values[k] = k % 2 ? encode_max(types[i]) : -encode_max(types[i]);
		encode(types[i], values, 32, bytes);
		dequant_blocks(types[i], bytes, 32 / type_find(types[i])->block_elements, back);
		for (int k = 0; k < 32; k++)
			assert_true(isfinite(back[k]));
	}
}

UNIT_MAIN(NULL, NULL)
