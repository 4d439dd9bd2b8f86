/* SPDX-License-Identifier: MIT */
/* test_codec.c - fs/tensor/codec.c: any values of a tensor, and types of computed values. */
#include "fs/storage/backing.h"
#include "fs/tensor/codec.h"
#include "tests/unit/tensor_file.h"

#define VALUES 2560u

static struct view *view_of(struct backing *floats)
{
	const struct segment segment = { .kind = SEGMENT_EXTENT,
					 .length = backing_size(floats),
					 .backing = floats };
	struct view *view = view_new(&segment, 1, NULL);

	must(view);
	return view;
}

static void the_values_of_every_type_can_be_read_from_anywhere(void **state)
{
	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		const uint64_t ne[] = { VALUES };
		struct tensor_file t;
		struct backing *floats;
		struct view *view;

		if (!type_find(type) || !dequant_supported(type))
			continue;
		t = new_tensor(state, "t", type, 1, ne, NULL);
		floats = decode_new(t.located.file, t.located.offset, type, VALUES);
		assert_non_null(floats);
		assert_int_equal(backing_size(floats), VALUES * sizeof(float));
		view = view_of(floats);
		assert_any_range(view, (const char *)t.values);
		view_unref(view);
		backing_unref(floats);
		free_tensor(&t);
	}
}

static void more_blocks_than_fit_the_scratch_memory_are_read_in_parts(void **state)
{
	const uint64_t n = 3 * DECODE_SCRATCH / 4 + 5, ne[] = { n };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 1, ne, NULL);
	void *scratch = malloc(DECODE_SCRATCH);
	float *values = malloc(n * sizeof(*values));

	must(scratch && values);
	for (unsigned spans = 0; spans < 2; spans++) {
		memset(values, 0, n * sizeof(*values));
		assert_int_equal(decode_read(t.located.file, t.located.offset, GGML_F32, spans, 0,
					     n, scratch, values, NULL),
				 0);
		assert_memory_equal(values, t.values, n * sizeof(*values));
	}
	free(values);
	free(scratch);
	free_tensor(&t);
}

static void a_file_that_was_changed_has_no_values(void **state)
{
	const uint64_t ne[] = { 64 };
	struct tensor_file t = new_tensor(state, "t", GGML_Q8_0, 1, ne, NULL);
	struct backing *floats = decode_new(t.located.file, t.located.offset, GGML_Q8_0, 64);
	float value;

	assert_int_equal(backing_read(floats, &value, sizeof(value), 0), 0);
	must(truncate(in_temp(state, "tensor").text, TENSOR_AT) == 0);
	assert_int_equal(backing_read(floats, &value, sizeof(value), 128), -EIO);
	assert_int_equal(backing_read_with(floats, BACKING_SPANS | BACKING_UNCHECKED, &value,
					   sizeof(value), 128),
			 -EIO);
	backing_unref(floats);
	free_tensor(&t);
}

static void without_memory_nothing_is_lost(void **state)
{
	const uint64_t ne[] = { 64 };
	struct tensor_file t = new_tensor(state, "t", GGML_Q8_0, 1, ne, NULL);
	char bytes[130];

	for (unsigned k = 1;; k++) {
		struct backing *floats;
		int rc = -ENOMEM;

		allocation_fails(k);
		floats = decode_new(t.located.file, t.located.offset, GGML_Q8_0, 64);
		if (floats)
			rc = backing_read(floats, bytes + 1, 129, 127);
		backing_unref(floats);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			assert_memory_equal(bytes + 1, (const char *)t.values + 127, 129);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
	}
	free_tensor(&t);
}

static void floats_keep_their_type_and_anything_else_is_q8_0_or_f16(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		const bool stays = type == GGML_F32 || type == GGML_F16 || type == GGML_BF16;

		assert_int_equal(encode_type(type, 96, ENCODE_Q8_0), stays ? type : GGML_Q8_0);
		assert_int_equal(encode_type(type, 100, ENCODE_Q8_0), stays ? type : GGML_F16);
		assert_int_equal(encode_type(type, 96, ENCODE_F16),
				 type == GGML_F32 ? type : GGML_F16);
	}
}

static void keep_falls_back_to_q8_0_without_an_encoder_or_whole_blocks(void **state)
{
	(void)state;
	assert_int_equal(encode_type(GGML_Q4_K, 512, ENCODE_KEEP), GGML_Q4_K);
	assert_int_equal(encode_type(GGML_Q4_K, 96, ENCODE_KEEP), GGML_Q8_0);
	assert_int_equal(encode_type(GGML_Q4_0, 100, ENCODE_KEEP), GGML_F16);
	assert_int_equal(encode_type(GGML_IQ2_XXS, 512, ENCODE_KEEP), GGML_Q8_0);
	assert_int_equal(encode_type(GGML_IQ3_XXS, 512, ENCODE_KEEP), GGML_Q8_0);
	assert_int_equal(encode_type(GGML_IQ1_M, 512, ENCODE_KEEP), GGML_Q8_0);
	assert_int_equal(encode_type(GGML_IQ3_S, 512, ENCODE_KEEP), GGML_IQ3_S);
}

UNIT_MAIN(temp_setup, temp_teardown)
