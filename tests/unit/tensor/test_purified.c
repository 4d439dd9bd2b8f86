/* SPDX-License-Identifier: MIT */
/* test_purified.c - fs/tensor/purified.c: each row of an organ by itself, in reads of any part. */
#include "fs/tensor/codec.h"
#include "fs/tensor/purified.h"
#include "gguf/quant.h"
#include "measure/fractal.h"
#include "measure/spectral.h"
#include "tests/unit/tensor_file.h"

#define ROW  96u
#define ROWS 5u

static void purify(enum purifier purifier, float most, float *row)
{
	struct spectral *spectral = spectral_new(ROW, most);
	struct fractal *fractal = fractal_new(ROW, most);

	must(spectral && fractal);
	if (purifier == PURIFIER_SPECTRAL)
		spectral_purify(spectral, row, row, SPECTRAL_KEEP);
	else
		fractal_purify(fractal, row, row, FRACTAL_STRENGTH);
	spectral_free(spectral);
	fractal_free(fractal);
}

static void rows_are_purified_each_by_itself(void **state)
{
	static const uint32_t types[] = { GGML_F32, GGML_F16, GGML_BF16, GGML_Q8_0, GGML_Q4_0 };
	const uint64_t ne[] = { ROW, ROWS };

	for (size_t i = 0; i < 2 * ARRAY_LENGTH(types); i++) {
		const enum purifier purifier = i % 2 ? PURIFIER_FRACTAL : PURIFIER_SPECTRAL;
		const uint32_t type = types[i / 2], made_type = encode_type(type, ROW, ENCODE_Q8_0);
		struct tensor_file t = new_tensor(state, "t", type, 2, ne, NULL);
		const struct organ made = purified_organ(&t.located.organ);
		struct view *view = purified_view(purifier, &t.located);
		uint8_t *expected = malloc(made.data_size);
		char *bytes = read_view(view);

		must(expected);
		assert_int_equal(made.type, made_type);
		assert_int_equal(view_size(view), made.header_size + made.data_size);
		for (uint32_t k = 0; k < ROWS; k++)
			purify(purifier, quant_max(made_type), t.values + k * ROW);
		quant_row(made_type, t.values, ROW * ROWS, NULL, expected);
		assert_memory_equal(bytes + made.header_size, expected, made.data_size);
		assert_any_range(view, bytes);
		free(bytes);
		free(expected);
		view_unref(view);
		free_tensor(&t);
	}
}

/* Check that the view is the organ's own file. */
static void assert_passes(void **state, uint32_t type, uint32_t dims, const uint64_t *ne,
			  const void *bytes)
{
	struct tensor_file t = new_tensor(state, "t", type, dims, ne, bytes);
	struct view *organ = organ_location_view(&t.located);
	char *expected = read_view(organ);

	for (enum purifier purifier = 0; purifier <= PURIFIER_FRACTAL; purifier++) {
		struct view *view = purified_view(purifier, &t.located);
		char *got = read_view(view);

		assert_int_equal(view_size(view), view_size(organ));
		assert_memory_equal(got, expected, view_size(organ));
		free(got);
		view_unref(view);
	}
	free(expected);
	view_unref(organ);
	free_tensor(&t);
}

static void tensor_that_is_no_matrix_is_unchanged(void **state)
{
	assert_passes(state, GGML_F32, 1, (const uint64_t[]){ 300 }, NULL);
	assert_passes(state, GGML_Q4_K, 1, (const uint64_t[]){ 256 }, NULL);
	assert_passes(state, GGML_F32, 2, (const uint64_t[]){ 3, 100 }, NULL);
	assert_passes(state, GGML_I32, 2, (const uint64_t[]){ 64, 4 }, NULL);
	assert_passes(state, GGML_F64, 2, (const uint64_t[]){ 64, 4 }, NULL);
	assert_passes(state, GGML_Q8_1, 2, (const uint64_t[]){ 64, 4 }, NULL);
}

static void a_row_that_stays_as_it_is_keeps_every_bit(void **state)
{
	uint16_t halves[2 * 64];
	float floats[2 * 64];

	/* The rows are a NaN with a payload, and a single value. */
	for (int i = 0; i < 128; i++) {
		halves[i] = i < 64 ? (uint16_t)(0x3000 + i) : 0x3c00;
		floats[i] = i < 64 ? (float)i : 1.5f;
	}
	halves[9] = 0x7d23;
	memcpy(&floats[9], &(const uint32_t){ 0xffa12345 }, 4);
	assert_passes(state, GGML_F16, 2, (const uint64_t[]){ 64, 2 }, halves);
	assert_passes(state, GGML_BF16, 2, (const uint64_t[]){ 64, 2 }, halves);
	assert_passes(state, GGML_F32, 2, (const uint64_t[]){ 64, 2 }, floats);
}

static void a_base_that_was_changed_is_not_purified(void **state)
{
	const uint64_t ne[] = { ROW, ROWS };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, ne, NULL);
	struct view *view = purified_view(PURIFIER_FRACTAL, &t.located);
	char byte;

	must(truncate(in_temp(state, "tensor").text, TENSOR_AT) == 0);
	assert_int_equal(view_read(view, &byte, 1, view_size(view) - 1), -EIO);
	assert_int_equal(view_read(view, &byte, 1, 0), 1);
	view_unref(view);
	free_tensor(&t);
}

static void without_memory_nothing_is_lost(void **state)
{
	const uint64_t ne[] = { ROW, ROWS };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, ne, NULL);
	char byte;

	for (unsigned k = 1;; k++) {
		struct view *view;
		ssize_t got = -ENOMEM;

		allocation_fails(k);
		view = purified_view(PURIFIER_SPECTRAL, &t.located);
		if (view)
			got = view_read(view, &byte, 1, view_size(view) - 1);
		if (!allocation_failed()) {
			assert_int_equal(got, 1);
			view_unref(view);
			break;
		}
		assert_int_equal(got, -ENOMEM);
		view_unref(view);
	}
	free_tensor(&t);
}

UNIT_MAIN(temp_setup, temp_teardown)
