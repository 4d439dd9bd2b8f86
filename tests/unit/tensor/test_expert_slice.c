/* SPDX-License-Identifier: MIT */
/* test_expert_slice.c - fs/tensor/expert_slice.c: the slice of each expert in a tensor. */
#include "fs/tensor/expert_slice.h"
#include "tests/unit/tensor_file.h"

static const uint64_t stack_ne[] = { 32, 3, 5 };

static void each_expert_is_an_organ_of_an_axis_less(void **state)
{
	struct tensor_file t =
		new_tensor(state, "blk.0.ffn_up_exps.weight", GGML_Q8_0, 3, stack_ne, NULL);

	assert_int_equal(expert_slice_count(&t.located.organ), 5);
	for (uint32_t i = 0; i < 5; i++) {
		const struct organ_location slice = expert_slice(&t.located, i);
		struct view *view = organ_location_view(&slice);
		struct memory_bytes memory = { (const uint8_t *)read_view(view), view_size(view) };
		const struct source source = source_of_memory(&memory);
		struct organ organ;

		assert_int_equal(organ_parse(&source, &organ, NULL), 0);
		assert_string_equal(organ.name, "blk.0.ffn_up_exps.weight");
		assert_int_equal(organ.type, GGML_Q8_0);
		assert_int_equal(organ.dims, 2);
		assert_int_equal(organ.ne[0], 32);
		assert_int_equal(organ.ne[1], 3);
		assert_int_equal(organ.data_size, 3 * 34);
		assert_memory_equal(memory.bytes + organ.header_size, t.bytes + i * 3 * 34, 3 * 34);
		free((char *)organ.name);
		free((uint8_t *)memory.bytes);
		view_unref(view);
	}
	free_tensor(&t);
}

static void a_router_has_a_row_and_a_bias_a_value_for_each(void **state)
{
	const uint64_t router[] = { 8, 5 }, bias[] = { 5 };
	struct tensor_file t =
		new_tensor(state, "blk.0.ffn_gate_inp.weight", GGML_F32, 2, router, NULL);
	struct organ_location slice;

	assert_int_equal(expert_slice_count(&t.located.organ), 5);
	slice = expert_slice(&t.located, 4);
	assert_int_equal(slice.organ.dims, 1);
	assert_int_equal(slice.organ.ne[0], 8);
	assert_int_equal(slice.offset, TENSOR_AT + 4 * 8 * 4);
	free_tensor(&t);
	t = new_tensor(state, "blk.0.exp_probs_b.bias", GGML_F32, 1, bias, NULL);
	assert_int_equal(expert_slice_count(&t.located.organ), 5);
	slice = expert_slice(&t.located, 3);
	assert_int_equal(slice.organ.dims, 1);
	assert_int_equal(slice.organ.ne[0], 1);
	assert_int_equal(slice.organ.data_size, 4);
	assert_int_equal(slice.offset, TENSOR_AT + 3 * 4);
	free_tensor(&t);
}

static void indivisible_tensor_has_no_experts(void **state)
{
	static const struct {
		const char *name;
		uint32_t type, dims;
		uint64_t ne[4];
	} none[] = {
		{ "blk.0.ffn_up.weight", GGML_F32, 3, { 32, 3, 5, 1 } },
		{ "blk.0.ffn_up_exps.weight",
		  GGML_F32,
		  2,
		  { 32, EXPERT_SLICE_EXPERTS_MAX + 1, 1, 1 } },
		{ "blk.0.exp_probs_b.bias", GGML_Q8_0, 1, { 32, 1, 1, 1 } },
		{ "blk.0.ffn_up_exps.weight", GGML_F32, 0, { 1, 1, 1, 1 } },
		{ "blk.0.ffn_up_exps.weight", GGML_F32, 2, { 32, 0, 1, 1 } },
		{ "blk.0.ffn_up_exps.weight", GGML_TYPES, 2, { 32, 2, 1, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
		struct organ organ = { .name = none[i].name,
				       .name_length = (uint32_t)strlen(none[i].name),
				       .type = none[i].type,
				       .dims = none[i].dims };

		memcpy(organ.ne, none[i].ne, sizeof(organ.ne));
		if (expert_slice_count(&organ) != 0)
			fail_msg("number %zu", i);
	}
}

static void assert_names(uint32_t n, uint32_t expert, const char *expected)
{
	char name[EXPERT_SLICE_NAME_MAX];
	uint32_t found;

	expert_slice_name(expert, n, name);
	assert_string_equal(name, expected);
	assert_true(expert_slice_find(name, strlen(name), n, &found));
	assert_int_equal(found, expert);
}

static void names_have_as_many_digits_as_it_takes(void **state)
{
	static const char *const none[] = {
		"", "7", "07", "0007", "100", "-01", " 01", "0x1", "1e0"
	};
	uint32_t found;

	(void)state;
	assert_names(1, 0, "000");
	assert_names(100, 7, "007");
	assert_names(1000, 999, "999");
	assert_names(1001, 1000, "1000");
	assert_names(10000, 10, "0010");
	assert_names(10001, 10, "00010");
	assert_names(EXPERT_SLICE_EXPERTS_MAX, EXPERT_SLICE_EXPERTS_MAX - 1, "65534");
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++)
		if (expert_slice_find(none[i], strlen(none[i]), 100, &found))
			fail_msg("%s", none[i]);
	assert_false(expert_slice_find("4294967303", 10, 100, &found));
}

static void the_order_lists_them_all(void **state)
{
	static const uint32_t counts[] = { 1,	2,   10,   11,	  99,
					   100, 101, 1000, 12345, EXPERT_SLICE_EXPERTS_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		struct view *view = expert_slice_order(counts[i]);
		char *text = read_view(view), *at = text;

		assert_int_equal(view_size(view), expert_slice_order_size(counts[i]));
		assert_true(view_size(view) <= EXPERT_SLICE_ORDER_MAX);
		for (uint32_t k = 0; k < counts[i]; k++) {
			assert_int_equal(strtoul(at, &at, 10), k);
			assert_int_equal(*at, k + 1 < counts[i] ? ' ' : '\n');
			at++;
		}
		assert_int_equal(at - text, view_size(view));
		free(text);
		view_unref(view);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
