/* SPDX-License-Identifier: MIT */
/* test_npy.c - fs/tensor/npy.c: tensors as NumPy files. */
#include "fs/tensor/npy.h"
#include "tests/unit/tensor_file.h"

/* The NumPy file of a tensor; caller frees. */
static char *read_npy(const struct tensor_file *t, uint64_t *size)
{
	struct view *view = npy_view(&t->located);
	char *bytes;

	assert_non_null(view);
	assert_true(npy_size(&t->located.organ, size));
	assert_int_equal(view_size(view), *size);
	bytes = read_view(view);
	assert_any_range(view, bytes);
	view_unref(view);
	return bytes;
}

static size_t assert_header(const char *bytes, const char *words)
{
	const size_t n = 10 + (uint8_t)bytes[8] + 256u * (uint8_t)bytes[9];

	assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
	assert_int_equal(n % 64, 0);
	assert_memory_equal(bytes + 10, words, strlen(words));
	for (size_t i = 10 + strlen(words); i + 1 < n; i++)
		assert_int_equal(bytes[i], ' ');
	assert_int_equal(bytes[n - 1], '\n');
	return n;
}

static void axes_are_reversed(void **state)
{
	static const struct {
		uint32_t dims;
		uint64_t ne[4];
		const char *shape;
	} shapes[] = {
		{ 1, { 6 }, "(6,)" },
		{ 2, { 6, 1 }, "(1, 6)" },
		{ 3, { 6, 5, 2 }, "(2, 5, 6)" },
		{ 4, { 2, 3, 4, 5 }, "(5, 4, 3, 2)" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
		struct tensor_file t =
			new_tensor(state, "t", GGML_F32, shapes[i].dims, shapes[i].ne, NULL);
		uint64_t size;
		char *bytes = read_npy(&t, &size), words[128];
		size_t head;

		snprintf(words, sizeof(words),
			 "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
			 shapes[i].shape);
		head = assert_header(bytes, words);
		assert_int_equal(size - head, t.located.organ.data_size);
		assert_memory_equal(bytes + head, t.bytes, size - head);
		free(bytes);
		free_tensor(&t);
	}
}

static void plain_types_keep_their_bytes_and_others_are_floats(void **state)
{
	static const char *const own[GGML_TYPES] = {
		[GGML_F64] = "<f8", [GGML_F32] = "<f4", [GGML_F16] = "<f2", [GGML_I8] = "|i1",
		[GGML_I16] = "<i2", [GGML_I32] = "<i4", [GGML_I64] = "<i8",
	};
	const uint64_t ne[] = { 256, 3 };

	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		struct tensor_file t;
		uint64_t size;
		char *bytes, words[64];
		size_t head;

		if (!type_find(type) || !npy_supports(type))
			continue;
		t = new_tensor(state, "t", type, 2, ne, NULL);
		bytes = read_npy(&t, &size);
		snprintf(words, sizeof(words), "{'descr': '%s', ", own[type] ? own[type] : "<f4");
		assert_memory_equal(bytes + 10, words, strlen(words));
		head = 10 + (size_t)(uint8_t)bytes[8];
		if (own[type])
			assert_memory_equal(bytes + head, t.bytes, size - head);
		else
			assert_memory_equal(bytes + head, t.values, t.elements * sizeof(float));
		free(bytes);
		free_tensor(&t);
	}
}

static void type_without_values_has_no_npy(void **state)
{
	(void)state;
	assert_false(npy_supports(GGML_Q8_1));
	assert_false(npy_supports(GGML_TYPES));
	assert_false(npy_supports(UINT32_MAX));
	assert_true(npy_supports(GGML_Q4_K));
}

static void a_file_can_be_too_large(void **state)
{
	struct organ organ = { .dims = 2, .type = GGML_Q4_0, .ne = { 32, 1, 1, 1 } };
	uint64_t size;

	(void)state;
	organ.ne[1] = (uint64_t)1 << 55;
	assert_true(npy_size(&organ, &size));
	organ.ne[1] = (uint64_t)1 << 57;
	assert_false(npy_size(&organ, &size));
	organ.type = GGML_F32;
	organ.data_size = INT64_MAX;
	assert_false(npy_size(&organ, &size));
}

static void without_memory_there_is_no_file(void **state)
{
	const uint64_t ne[] = { 32 };
	struct tensor_file t = new_tensor(state, "t", GGML_Q4_0, 1, ne, NULL);

	for (unsigned k = 1;; k++) {
		struct view *view;

		allocation_fails(k);
		view = npy_view(&t.located);
		if (!allocation_failed()) {
			assert_non_null(view);
			view_unref(view);
			break;
		}
		assert_null(view);
	}
	free_tensor(&t);
}

UNIT_MAIN(temp_setup, temp_teardown)
