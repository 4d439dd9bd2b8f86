/* SPDX-License-Identifier: MIT */
/* test_file_type.c - gguf/file_type.c: tensors that llama-quantize quantises, and the number
 * of their type. */
#include "gguf/file_type.h"
#include "gguf/quant.h"
#include "gguf/types.h"
#include "tests/unit/unit.h"

static bool counts(const char *name, uint32_t dims)
{
	return file_type_counts(name, strlen(name), dims);
}

static void only_matrices_count_for_the_file_type(void **state)
{
	static const char *const small[] = { "blk.0.attn_norm.weight",
					     "blk.3.ffn_gate_inp.weight",
					     "token_types.weight",
					     "blk.1.ssm_conv1d.weight",
					     "blk.0.attn_q.bias",
					     "eight",
					     "" };

	(void)state;
	assert_true(counts("blk.0.ffn_up.weight", 2));
	assert_true(counts("blk.0.ffn_up_exps.weight", 3));
	assert_true(counts("token_embd.weight", 2));
	assert_true(counts("weight", 2));
	assert_false(counts("blk.0.ffn_up.weight", 1));
	for (size_t i = 0; i < ARRAY_LENGTH(small); i++)
		if (counts(small[i], 2))
			fail_msg("%s counts", small[i]);
	assert_true(file_type_is_end("output.weight", strlen("output.weight")));
	assert_false(file_type_is_end("output.weight_", strlen("output.weight_")));
	assert_false(file_type_is_end("blk.0.ffn_up.weight", strlen("blk.0.ffn_up.weight")));
}

static void every_type_with_an_encoder_but_the_newest_has_a_number(void **state)
{
	uint32_t number;

	(void)state;
	for (uint32_t type = 0; type < GGML_TYPES; type++)
		if (quant_supported(type) && type != GGML_Q2_0)
			assert_true(file_type_of(type, &number));
	assert_true(file_type_of(GGML_F32, &number));
	assert_int_equal(number, 0);
	assert_true(file_type_of(GGML_Q4_K, &number));
	assert_int_equal(number, 15);
	assert_true(file_type_of(GGML_Q8_0, &number));
	assert_int_equal(number, 7);
	assert_true(file_type_of(GGML_MXFP4, &number));
	assert_int_equal(number, 38);
	assert_false(file_type_of(GGML_I8, &number));
	assert_false(file_type_of(9999, &number));
}

UNIT_MAIN(NULL, NULL)
