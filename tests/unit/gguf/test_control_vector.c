/* SPDX-License-Identifier: MIT */
/* test_control_vector.c - gguf/control_vector.c: the direction for each tensor, and refused
 * files. */
#include "gguf/bytes.h"
#include "gguf/control_vector.h"
#include "gguf/cursor.h"
#include "gguf/organ.h"
#include "tests/unit/gguf_bytes.h"

#include <math.h>

#define CHANNELS 1030u /* more than one read takes */

/* A control vector in memory. */
struct vector {
	struct mk_file file;
	struct memory_bytes memory;
	struct gguf *gguf;
};

static void finish(struct mkgguf *m, struct vector *vector)
{
	vector->file = mkgguf_finish(m);
	vector->memory = (struct memory_bytes){ vector->file.bytes, vector->file.size };
	vector->gguf = read_bytes(vector->file.bytes, vector->file.size);
}

static void release(struct vector *vector)
{
	gguf_free(vector->gguf);
	mk_file_free(&vector->file);
}

static void set(struct vector *vector, uint32_t tensor, uint32_t i, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	store_u32(vector->file.bytes + vector->gguf->tensors[tensor].offset + 4 * i, bits);
}

/* Make directions 0, 1 and 12 of two rows, all values 1. */
static void make(struct vector *vector)
{
	static const uint64_t ne[] = { CHANNELS, 2 };
	struct mkgguf *m = mkgguf_new(3);

	mkgguf_tensor(m, "direction.0", GGML_F32, 2, ne);
	mkgguf_tensor(m, "direction.1", GGML_F32, 2, ne);
	mkgguf_tensor(m, "direction.12", GGML_F32, 2, ne);
	finish(m, vector);
	for (uint32_t i = 0; i < 3 * 2 * CHANNELS; i++)
		set(vector, i / (2 * CHANNELS), i % (2 * CHANNELS), 1.0f);
}

static int check(struct vector *vector, struct error *err)
{
	const struct source source = source_of_memory(&vector->memory);

	*err = (struct error){ 0 };
	return control_vector_check(vector->gguf, &source, err);
}

static void expect_refusal(struct vector *vector, const char *words)
{
	struct error err;

	assert_int_equal(check(vector, &err), -EINVAL);
	if (!strstr(err.text, words))
		fail_msg("%s: %s", words, err.text);
}

static void values_are_finite_and_rows_are_not_zero(void **state)
{
	struct vector vector;
	struct error err;

	(void)state;
	make(&vector);
	assert_true(control_vector_is(vector.gguf));
	assert_int_equal(check(&vector, &err), 0);
	set(&vector, 2, 2 * CHANNELS - 1, NAN);
	expect_refusal(&vector, "direction.12 has a value that is not finite");
	set(&vector, 2, 2 * CHANNELS - 1, INFINITY);
	expect_refusal(&vector, "direction.12 has a value that is not finite");
	for (uint32_t i = CHANNELS; i < 2 * CHANNELS; i++)
		set(&vector, 2, i, 0.0f);
	expect_refusal(&vector, "direction.12 has a row of zeros");
	set(&vector, 2, 2 * CHANNELS - 1, 1e-45f);
	assert_int_equal(check(&vector, &err), 0);
	vector.memory.size = to_size(vector.gguf->tensors[2].offset + 2 * CHANNELS * 4 - 1);
	assert_int_equal(check(&vector, &err), -EIO);
	release(&vector);
}

static void expect_tensor_refusal(const char *name, uint32_t type, uint64_t ne0, uint64_t ne1,
				  uint64_t ne2, const char *words)
{
	const uint64_t first[] = { 64 }, ne[] = { ne0, ne1, ne2 };
	struct mkgguf *m = mkgguf_new(3);
	struct vector vector;

	mkgguf_tensor(m, "direction.1", GGML_F32, 1, first);
	mkgguf_tensor(m, name, type, 3, ne);
	finish(m, &vector);
	expect_refusal(&vector, words);
	release(&vector);
}

static void tensor_that_is_no_direction_is_refused(void **state)
{
	(void)state;
	expect_tensor_refusal("direction.", GGML_F32, 64, 1, 1, "direction. is no direction.N");
	expect_tensor_refusal("direction.02", GGML_F32, 64, 1, 1, "is no direction.N");
	expect_tensor_refusal("direction.2x", GGML_F32, 64, 1, 1, "is no direction.N");
	expect_tensor_refusal("direction.-2", GGML_F32, 64, 1, 1, "is no direction.N");
	expect_tensor_refusal("blk.0.attn_q.weight", GGML_F32, 64, 1, 1, "is no direction.N");
	expect_tensor_refusal("direction.2", GGML_F16, 64, 1, 1, "is no direction.N");
	expect_tensor_refusal("direction.2", GGML_F32, 64, 65, 1, "is no direction.N");
	expect_tensor_refusal("direction.2", GGML_F32, 64, 1, 2, "is no direction.N");
	expect_tensor_refusal("direction.2", GGML_F32, CONTROL_VECTOR_VALUES_MAX / 2 + 1, 2, 1,
			      "direction.2 has more than 1048576 values");
	expect_tensor_refusal("direction.2", GGML_F32, 32, 1, 1,
			      "direction.2 has rows of 32 values, and direction.1 of 64");
}

static const char *direction_of(const struct gguf *gguf, const char *name, bool *by_row)
{
	const struct gguf_tensor *tensor =
		control_vector_direction(gguf, name, strlen(name), by_row);

	return tensor ? tensor->name : "";
}

static void assert_direction(const char *name, const char *direction, bool by_row)
{
	struct vector vector;
	bool is_by_row;

	make(&vector);
	assert_string_equal(direction_of(vector.gguf, name, &is_by_row), direction);
	assert_true(!direction[0] || is_by_row == by_row);
	release(&vector);
}

static void block_has_the_direction_of_its_number(void **state)
{
	(void)state;
	assert_direction("blk.0.attn_output.weight", "direction.0", false);
	assert_direction("blk.1.ffn_down.weight", "direction.1", false);
	assert_direction("blk.12.ffn_down_exps.weight", "direction.12", false);
	assert_direction("blk.12.ffn_down_shexp.weight", "direction.12", false);
	assert_direction("blk.12.ssm_out.weight", "direction.12", false);
	assert_direction("blk.1.attn_output.bias", "direction.1", true);
	assert_direction("blk.1.ffn_down.bias", "direction.1", true);
	assert_direction("token_embd.weight", "direction.0", true);
	assert_direction("blk.2.ffn_down.weight", "", false);
	assert_direction("blk.1.ffn_up.weight", "", false);
	assert_direction("blk.1.attn_output_norm.weight", "", false);
	assert_direction("blk.01.ffn_down.weight", "", false);
	assert_direction("blk.1.", "", false);
	assert_direction("v.blk.1.ffn_down.weight", "", false);
	assert_direction("output.weight", "", false);
	assert_direction("", "", false);
}

static int fits(uint64_t ne0, uint64_t ne1, uint32_t type, bool by_row, struct error *err)
{
	static const char name[] = "blk.1.ffn_down.weight";
	const struct organ organ = { .name = name,
				     .name_length = sizeof(name) - 1,
				     .dims = 2,
				     .ne = { ne0, ne1, 1, 1 },
				     .type = type };
	const struct gguf_tensor direction = { .name = "direction.1", .ne = { 64, 2, 1, 1 } };

	*err = (struct error){ 0 };
	return control_vector_fits(&direction, &organ, by_row, err);
}

static void channels_are_those_of_the_tensor(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(fits(48, 64, GGML_F16, false, &err), 0);
	assert_int_equal(fits(64, 48, GGML_F16, true, &err), 0);
	assert_int_equal(fits(64, 48, GGML_F16, false, &err), -EINVAL);
	assert_string_equal(err.text, "direction.1 has rows of 64 values, and "
				      "blk.1.ffn_down.weight writes 48: it is for another model");
	assert_int_equal(fits(48, 64, GGML_I32, false, &err), -EINVAL);
	assert_int_equal(fits(CONTROL_VECTOR_VALUES_MAX / 2, 64, GGML_F16, false, &err), 0);
	assert_int_equal(fits(CONTROL_VECTOR_VALUES_MAX / 2 + 1, 64, GGML_F16, false, &err),
			 -EINVAL);
}

UNIT_MAIN(NULL, NULL)
