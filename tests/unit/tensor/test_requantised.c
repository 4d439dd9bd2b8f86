/* SPDX-License-Identifier: MIT */
/* test_requantised.c - fs/tensor/requantised.c, fs/tensor/importance_matrix.c and the names of
 * fs/tensor/organ_views.c: a tensor in another type, row by row, for reads of any part, with the
 * weights of an importance matrix too. */
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/requantised.h"
#include "gguf/quant.h"
#include "tests/unit/gguf_bytes.h"
#include "tests/unit/tensor_file.h"

#define ROW  256u
#define ROWS 5u

/* Form of that name; the caller asserts its existence. */
static enum organ_view form_of(const char *name)
{
	enum organ_view form;

	if (!organ_view_find(name, &form))
		fail_msg("%s", name);
	return form;
}

static void each_row_is_encoded_by_itself(void **state)
{
	static const uint32_t from[] = { GGML_F32, GGML_F16, GGML_Q4_0, GGML_Q6_K };
	static const uint32_t to[] = { GGML_F32,  GGML_F16,    GGML_BF16,  GGML_Q8_0,
				       GGML_Q4_K, GGML_IQ4_XS, GGML_TQ1_0, GGML_MXFP4 };
	const uint64_t ne[] = { ROW, ROWS };

	for (size_t i = 0; i < ARRAY_LENGTH(from) * ARRAY_LENGTH(to); i++) {
		const uint32_t type = to[i % ARRAY_LENGTH(to)];
		struct tensor_file t =
			new_tensor(state, "t", from[i / ARRAY_LENGTH(to)], 2, ne, NULL);
		const struct organ made = requantised_organ(&t.located.organ, type);
		struct view *view = requantised_view(&t.located, type, NULL);
		uint8_t *expected = malloc(made.data_size);
		char *bytes = read_view(view);

		must(expected && requantised_exists(&t.located.organ, type, NULL));
		assert_int_equal(made.type, type);
		assert_int_equal(view_size(view), made.header_size + made.data_size);
		for (uint32_t k = 0; k < ROWS; k++)
			quant_row(type, t.values + k * ROW, ROW, NULL,
				  expected + k * (made.data_size / ROWS));
		if (type != t.located.organ.type)
			assert_memory_equal(bytes + made.header_size, expected, made.data_size);
		assert_any_range(view, bytes);
		free(bytes);
		free(expected);
		view_unref(view);
		free_tensor(&t);
	}
}

static void many_short_rows_are_encoded_in_parts(void **state)
{
	const uint64_t ne[] = { 32, 3000 };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, ne, NULL);
	const struct organ made = requantised_organ(&t.located.organ, GGML_Q5_1);
	struct view *view = requantised_view(&t.located, GGML_Q5_1, NULL);
	uint8_t *expected = malloc(made.data_size);
	char *bytes = read_view(view);

	must(expected);
	quant_row(GGML_Q5_1, t.values, 32 * 3000, NULL, expected);
	assert_memory_equal(bytes + made.header_size, expected, made.data_size);
	free(bytes);
	free(expected);
	view_unref(view);
	free_tensor(&t);
}

static void own_type_keeps_every_bit(void **state)
{
	const uint64_t ne[] = { 64, 2 };
	uint32_t odd[128];

	for (uint32_t i = 0; i < 128; i++)
		odd[i] = 0x7f800000u + 3 * i; /* infinity, and NaNs with a payload */
	for (int type = 0; type < 2; type++) {
		struct tensor_file t = new_tensor(state, "t", type ? GGML_Q4_0 : GGML_F32, 2, ne,
						  type ? NULL : odd);
		struct view *organ = organ_location_view(&t.located);
		struct view *view = requantised_view(&t.located, t.located.organ.type, NULL);
		char *expected = read_view(organ), *got = read_view(view);

		assert_int_equal(view_size(view), view_size(organ));
		assert_memory_equal(got, expected, view_size(organ));
		free(expected);
		free(got);
		view_unref(view);
		view_unref(organ);
		free_tensor(&t);
	}
}

static void tensor_that_cannot_be_had_in_a_type_does_not_exist(void **state)
{
	static const struct {
		uint32_t from, to;
		uint64_t row;
		bool exists;
	} cases[] = {
		{ GGML_F32, GGML_Q8_0, 32, true },	{ GGML_F32, GGML_Q8_0, 33, false },
		{ GGML_F32, GGML_Q4_K, 32, false },	{ GGML_F32, GGML_Q4_K, 256, true },
		{ GGML_I32, GGML_F32, 32, false },	{ GGML_I32, GGML_I32, 32, true },
		{ GGML_F64, GGML_F32, 32, false },	{ GGML_Q8_1, GGML_F32, 32, false },
		{ GGML_F32, GGML_IQ2_XXS, 256, false }, { GGML_F32, GGML_Q8_1, 32, false },
		{ GGML_Q2_K, GGML_F32, 256, true },	{ GGML_F32, GGML_IQ3_XXS, 256, false },
		{ GGML_F32, GGML_IQ1_M, 256, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const uint64_t ne[] = { cases[i].row, 2 };
		struct tensor_file t = new_tensor(state, "t", cases[i].from, 2, ne, NULL);

		if (requantised_exists(&t.located.organ, cases[i].to, NULL) != cases[i].exists)
			fail_msg("case %zu", i);
		free_tensor(&t);
	}
}

static void organ_without_values_does_not_exist(void **state)
{
	const struct organ organ = { .type = GGML_F32, .dims = 1, .ne = { 0, 1, 1, 1 } };

	(void)state;
	assert_false(requantised_exists(&organ, GGML_Q8_0, NULL));
	assert_true(requantised_exists(&organ, GGML_F32, NULL));
}

static void each_form_is_found_by_its_name(void **state)
{
	enum organ_view form, found;
	uint64_t types = 0;

	(void)state;
	for (form = 0; form < ORGAN_VIEWS; form++) {
		assert_true(organ_view_find(organ_view_name(form), &found));
		assert_int_equal(found, form);
	}
	for (; organ_view_of_type(types, &form); types++) {
		assert_true(organ_view_find(organ_view_name(form), &found));
		assert_int_equal(found, form);
		assert_string_equal(organ_view_suffix(form), ".bin");
		assert_true(form < ORGAN_VIEW_FORMS);
	}
	assert_int_equal(types, 24);
	assert_int_equal(form_of("types/q6_k"), ORGAN_VIEW_TYPES + 1 + GGML_Q6_K);
	assert_false(organ_view_find("types", &found));
	assert_false(organ_view_find("types/q6_K", &found));
	assert_false(organ_view_find("q6_k", &found));
	assert_null(organ_view_name(ORGAN_VIEW_TYPES));
	assert_null(organ_view_name(ORGAN_VIEW_TYPES + 1 + GGML_IQ2_XXS));
	assert_null(organ_view_name(ORGAN_VIEW_FORMS + 1000));
}

#define STACK	"blk.0.ffn_up_exps.weight"
#define EXPERTS 3u

/* Weight of an expert's column in matrix_of(). */
static float weight_of(uint64_t expert, uint64_t column)
{
	return (float)(1 + (7 * column + 3 * expert) % 11);
}

/* Make an importance matrix with rows of that length for each expert of STACK. */
static struct importance_matrix *matrix_of(void **state, uint64_t row)
{
	const uint64_t sums_ne[] = { row, EXPERTS }, counts_ne[] = { 1, EXPERTS };
	struct mkgguf *m = mkgguf_new(3);
	struct importance_matrix *matrix;
	const float two = 2;
	struct mk_file file;
	struct gguf *gguf;

	mkgguf_kv_string(m, "general.type", "imatrix");
	mkgguf_tensor(m, STACK ".in_sum2", GGML_F32, 2, sums_ne);
	mkgguf_tensor(m, STACK ".counts", GGML_F32, 2, counts_ne);
	file = mkgguf_finish(m);
	gguf = read_bytes(file.bytes, file.size);
	for (uint64_t i = 0; i < row * EXPERTS; i++) {
		const float sum = 2 * weight_of(i / row, i % row);

		memcpy(file.bytes + gguf->tensors[0].offset + 4 * i, &sum, 4);
	}
	for (uint64_t i = 0; i < EXPERTS; i++)
		memcpy(file.bytes + gguf->tensors[1].offset + 4 * i, &two, 4);
	save(state, "matrix", &file);
	mk_file_free(&file);
	matrix = importance_matrix_new(backing_open(in_temp(state, "matrix").text, NULL), gguf);
	must(matrix);
	return matrix;
}

static void rows_are_encoded_with_the_weights_of_their_expert(void **state)
{
	static const uint32_t to[] = { GGML_Q4_0, GGML_Q4_K,	GGML_IQ4_XS,
				       GGML_Q8_0, GGML_IQ3_XXS, GGML_IQ1_M };
	const uint64_t ne[] = { 2 * ROW, ROWS, EXPERTS };
	struct importance_matrix *matrix = matrix_of(state, 2 * ROW);
	struct tensor_file t = new_tensor(state, STACK, GGML_F16, 3, ne, NULL);

	for (size_t i = 0; i < ARRAY_LENGTH(to); i++) {
		const struct organ made = requantised_organ(&t.located.organ, to[i]);
		const size_t length = made.data_size / (ROWS * EXPERTS);
		struct view *view = requantised_view(&t.located, to[i], matrix);
		char *bytes = read_view(view);

		for (size_t k = 0; k < ROWS * EXPERTS; k++) {
			uint8_t expected[2 * ROW * sizeof(float)];
			float weights[2 * ROW];

			for (size_t j = 0; j < 2 * ROW; j++)
				weights[j] = weight_of(k / ROWS, j);
			quant_row(to[i], t.values + k * 2 * ROW, 2 * ROW, weights, expected);
			assert_memory_equal(bytes + made.header_size + k * length, expected,
					    length);
		}
		assert_any_range(view, bytes);
		free(bytes);
		view_unref(view);
	}
	free_tensor(&t);
	importance_matrix_unref(matrix);
}

/* A graft may have another shape than the base's tensor, for which the matrix was made. */
static void tensor_of_another_name_or_shape_is_encoded_as_without_a_matrix(void **state)
{
	static const char *const names[] = { "blk.0.ffn_up.weight", STACK };
	const uint64_t ne[] = { ROW, ROWS };
	struct importance_matrix *matrix = matrix_of(state, ROW);

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct tensor_file t = new_tensor(state, names[i], GGML_F32, 2, ne, NULL);
		struct view *with = requantised_view(&t.located, GGML_Q4_K, matrix);
		struct view *without = requantised_view(&t.located, GGML_Q4_K, NULL);
		char *bytes = read_view(with), *expected = read_view(without);

		assert_memory_equal(bytes, expected, view_size(without));
		free(bytes);
		free(expected);
		view_unref(with);
		view_unref(without);
		free_tensor(&t);
	}
	importance_matrix_unref(matrix);
}

static void type_that_needs_weights_exists_for_tensor_that_has_them(void **state)
{
	static const uint32_t needing[] = { GGML_IQ3_XXS, GGML_IQ1_M };
	struct importance_matrix *matrix = matrix_of(state, ROW);
	struct organ organ = { .type = GGML_F16,
			       .name = STACK,
			       .name_length = strlen(STACK),
			       .dims = 3,
			       .ne = { ROW, ROWS, EXPERTS, 1 },
			       .data_size = ROW * ROWS * EXPERTS * 2 };

	for (size_t i = 0; i < ARRAY_LENGTH(needing); i++) {
		assert_true(requantised_exists(&organ, needing[i], matrix));
		assert_false(requantised_exists(&organ, needing[i], NULL));
		organ.name_length--;
		assert_false(requantised_exists(&organ, needing[i], matrix));
		organ.name_length++;
		organ.ne[0] = (uint64_t)1 << 21;
		assert_false(requantised_exists(&organ, needing[i], matrix));
		organ.ne[0] = ROW;
	}
	importance_matrix_unref(matrix);
}

static void without_memory_nothing_is_lost(void **state)
{
	const uint64_t ne[] = { ROW, ROWS, EXPERTS };
	struct importance_matrix *matrix = matrix_of(state, ROW);
	struct tensor_file t = new_tensor(state, STACK, GGML_F32, 3, ne, NULL);
	char byte;

	needs_failing_allocations();
	for (unsigned k = 1;; k++) {
		struct view *view;
		ssize_t got = -ENOMEM;

		allocation_fails(k);
		view = requantised_view(&t.located, GGML_Q4_K, matrix);
		if (view)
			got = view_read(view, &byte, 1, view_size(view) - 1);
		view_unref(view);
		if (!allocation_failed()) {
			assert_int_equal(got, 1);
			break;
		}
		assert_int_equal(got, -ENOMEM);
	}
	free_tensor(&t);
	importance_matrix_unref(matrix);
}

UNIT_MAIN(temp_setup, temp_teardown)
