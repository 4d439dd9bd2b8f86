/* SPDX-License-Identifier: MIT */
/* test_importance.c - gguf/importance.c: weights of an importance matrix, and refused matrices.
 * test_quant.c reads a matrix of llama-imatrix. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/importance.h"
#include "tests/unit/gguf_bytes.h"

#include <math.h>

#define NAME	"blk.0.ffn_up_exps.weight"
#define ROW	4u
#define EXPERTS 3u

/* A matrix in memory. */
struct matrix {
	struct mk_file file;
	struct memory_bytes *memory;
	struct source source;
	struct gguf *gguf;
};

static struct matrix finish(struct mkgguf *m)
{
	struct matrix made = { .file = mkgguf_finish(m), .memory = malloc(sizeof(*made.memory)) };

	assert_non_null(made.memory);
	*made.memory = (struct memory_bytes){ made.file.bytes, made.file.size };
	made.source = source_of_memory(made.memory);
	made.gguf = read_bytes(made.file.bytes, made.file.size);
	return made;
}

static void release(struct matrix *matrix)
{
	gguf_free(matrix->gguf);
	free(matrix->memory);
	mk_file_free(&matrix->file);
}

static struct mkgguf *begin(const char *type)
{
	struct mkgguf *m = mkgguf_new(3);

	if (type)
		mkgguf_kv_string(m, "general.type", type);
	return m;
}

/* Set value i of a tensor of the matrix. */
static void set(struct matrix *matrix, uint32_t tensor, uint32_t i, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	store_u32(matrix->file.bytes + matrix->gguf->tensors[tensor].offset + 4 * i, bits);
}

enum { SUMS, COUNTS };

/* Sums 1, 2, ... and counts of 2 for that many experts, with another tensor's behind them. */
static struct matrix stack(uint64_t experts, uint64_t counts)
{
	const uint64_t sums_ne[] = { ROW, experts }, counts_ne[] = { 1, counts };
	struct mkgguf *m = begin("imatrix");
	struct matrix matrix;

	mkgguf_tensor(m, NAME ".in_sum2", GGML_F32, 2, sums_ne);
	mkgguf_tensor(m, NAME ".counts", GGML_F32, 2, counts_ne);
	mkgguf_tensor(m, "blk.1.ffn_up.weight.in_sum2", GGML_F32, 2, sums_ne);
	matrix = finish(m);
	for (uint32_t i = 0; i < ROW * experts; i++) {
		set(&matrix, SUMS, i, (float)(i + 1));
		set(&matrix, 2, i, 1);
	}
	for (uint32_t i = 0; i < counts; i++)
		set(&matrix, COUNTS, i, 2);
	return matrix;
}

static int fits(const struct matrix *matrix, uint64_t row, uint64_t experts, struct error *err)
{
	const uint64_t ne[GGML_AXES] = { row, 2, experts, 1 };

	return importance_fits(matrix->gguf, &matrix->source, NAME, strlen(NAME), ne, err);
}

static int check(const struct matrix *matrix, uint64_t row, uint64_t experts, struct error *err)
{
	const uint64_t ne[GGML_AXES] = { row, 2, experts, 1 };

	return importance_check_tensor(matrix->gguf, &matrix->source, NAME, strlen(NAME), ne, err);
}

static void entry_fits_by_its_shapes_alone(void **state)
{
	struct matrix matrix = stack(EXPERTS, EXPERTS);
	struct error err;

	(void)state;
	assert_int_equal(fits(&matrix, ROW, EXPERTS, &err), 0);
	assert_int_equal(fits(&matrix, ROW + 1, EXPERTS, &err), -EINVAL);
	assert_int_equal(fits(&matrix, ROW, EXPERTS + 1, &err), -EINVAL);
	set(&matrix, SUMS, 1, -1);
	set(&matrix, COUNTS, EXPERTS - 1, NAN);
	assert_int_equal(fits(&matrix, ROW, EXPERTS, &err), 0);
	release(&matrix);
}

/* Read the weights for rows of that length, for one of that many experts. */
static int read_as(const struct matrix *matrix, uint64_t row, uint64_t experts, uint64_t expert,
		   float *weights, struct error *err)
{
	const uint64_t ne[GGML_AXES] = { row, 5, experts, 1 };

	*err = (struct error){ 0 };
	return importance_read(matrix->gguf, &matrix->source, NAME, strlen(NAME), ne, expert,
			       weights, err);
}

static void expect_refusal(const struct matrix *matrix, uint64_t row, uint64_t experts,
			   const char *words)
{
	struct error err;
	float weights[ROW];

	assert_int_equal(read_as(matrix, row, experts, 0, weights, &err), -EINVAL);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

/* Expect sum / divisor for each column of the expert, or 1 for a divisor of 0. */
static void expect_weights(const struct matrix *matrix, uint64_t experts, uint32_t expert,
			   float divisor)
{
	struct error err;
	float weights[ROW];

	assert_int_equal(read_as(matrix, ROW, experts, expert, weights, &err), 0);
	for (uint32_t i = 0; i < ROW; i++) {
		const float sum = (float)(expert * ROW + i + 1);

		assert_true(weights[i] == (divisor > 0 ? sum / divisor : 1));
	}
}

static void weights_are_the_sums_over_the_count_of_the_expert(void **state)
{
	struct matrix matrix = stack(EXPERTS, EXPERTS);

	(void)state;
	set(&matrix, COUNTS, 1, 4);
	for (uint32_t expert = 0; expert < EXPERTS; expert++)
		expect_weights(&matrix, EXPERTS, expert, expert == 1 ? 4 : 2);
	release(&matrix);
}

static void single_count_applies_to_all_experts(void **state)
{
	struct matrix matrix = stack(EXPERTS, 1);

	(void)state;
	for (uint32_t expert = 0; expert < EXPERTS; expert++)
		expect_weights(&matrix, EXPERTS, expert, 2);
	release(&matrix);
}

static void expert_that_was_not_used_has_weights_of_one(void **state)
{
	struct matrix matrix = stack(EXPERTS, EXPERTS);

	(void)state;
	set(&matrix, COUNTS, 0, 0.25f);
	set(&matrix, COUNTS, 2, 0);
	for (uint32_t expert = 0; expert < EXPERTS; expert++)
		expect_weights(&matrix, EXPERTS, expert, expert == 1 ? 2 : 0);
	release(&matrix);
}

static void counts_are_rounded(void **state)
{
	struct matrix matrix = stack(1, 1);

	(void)state;
	set(&matrix, COUNTS, 0, 2.5f);
	expect_weights(&matrix, 1, 0, 3);
	release(&matrix);
}

static void long_rows_are_read_whole(void **state)
{
	const uint64_t row[] = { 5000, 1 }, one[] = { 1, 1 };
	struct mkgguf *m = begin("imatrix");
	struct matrix matrix;
	struct error err;
	float weights[5000];

	(void)state;
	mkgguf_tensor(m, NAME ".in_sum2", GGML_F32, 2, row);
	mkgguf_tensor(m, NAME ".counts", GGML_F32, 2, one);
	matrix = finish(m);
	for (uint32_t i = 0; i < 5000; i++)
		set(&matrix, SUMS, i, (float)i);
	set(&matrix, COUNTS, 0, 1);
	assert_int_equal(read_as(&matrix, 5000, 1, 0, weights, &err), 0);
	for (uint32_t i = 0; i < 5000; i++)
		assert_true(weights[i] == (float)i);
	release(&matrix);
}

static void matrix_has_the_tensors_whose_names_are_there(void **state)
{
	char too_long[100];
	struct matrix matrix = stack(1, 1);

	(void)state;
	memset(too_long, 'x', sizeof(too_long));
	assert_true(importance_has(matrix.gguf, NAME, strlen(NAME)));
	assert_false(importance_has(matrix.gguf, NAME, strlen(NAME) - 1));
	assert_false(importance_has(matrix.gguf, too_long, sizeof(too_long)));
	release(&matrix);
}

static void matrix_of_another_shape_is_refused(void **state)
{
	struct matrix matrix = stack(EXPERTS, EXPERTS), two_counts = stack(EXPERTS, 2);

	(void)state;
	expect_refusal(&matrix, ROW + 1, EXPERTS, "in_sum2 is not F32 with 5 values for each of 3");
	expect_refusal(&matrix, ROW, 1, "in_sum2 is not F32 with 4 values for each of 1");
	expect_refusal(&matrix, 0, EXPERTS, "in_sum2");
	expect_refusal(&matrix, UINT64_MAX / 2, EXPERTS, "in_sum2");
	expect_refusal(&two_counts, ROW, EXPERTS, "counts is not F32 with one value, or one for");
	release(&matrix);
	release(&two_counts);
}

static void matrix_of_another_type_is_refused(void **state)
{
	const uint64_t row[] = { ROW }, one[] = { 1 };

	(void)state;
	for (int bad = 0; bad < 2; bad++) {
		struct mkgguf *m = begin("imatrix");
		struct matrix matrix;

		mkgguf_tensor(m, NAME ".in_sum2", bad ? GGML_F32 : GGML_F16, 1, row);
		mkgguf_tensor(m, NAME ".counts", bad ? GGML_F16 : GGML_F32, 1, one);
		matrix = finish(m);
		expect_refusal(&matrix, ROW, 1, bad ? "counts is not F32" : "in_sum2 is not F32");
		release(&matrix);
	}
}

static void half_of_an_entry_is_refused(void **state)
{
	static const char *const there[] = { NAME ".in_sum2", NAME ".counts" };
	const uint64_t row[] = { ROW };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct mkgguf *m = begin("imatrix");
		struct matrix matrix;

		mkgguf_tensor(m, there[i], GGML_F32, 1, row);
		matrix = finish(m);
		assert_true(importance_has(matrix.gguf, NAME, strlen(NAME)));
		expect_refusal(&matrix, ROW, 1,
			       i ? NAME " has no .in_sum2" : NAME " has no .count");
		release(&matrix);
	}
}

static void value_that_is_no_sum_or_count_is_refused(void **state)
{
	static const float bad[] = { -1, INFINITY, -INFINITY, NAN };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(bad); i++) {
		struct matrix matrix = stack(EXPERTS, EXPERTS);

		set(&matrix, 2, 0, bad[i / 2]);
		assert_int_equal(check(&matrix, ROW, EXPERTS, &err), 0);
		set(&matrix, i % 2 ? SUMS : COUNTS, 0, bad[i / 2]);
		assert_int_equal(check(&matrix, ROW, EXPERTS, &err), -EINVAL);
		assert_non_null(strstr(err.text, "has a value that is negative or not finite"));
		expect_refusal(&matrix, ROW, EXPERTS, "has a value that is negative or not finite");
		release(&matrix);
	}
}

static void every_value_of_a_tensor_is_checked(void **state)
{
	const uint64_t row[] = { 5000 };
	struct error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 5000; i += 1249) {
		const uint64_t one[] = { 1 };
		struct mkgguf *m = begin("imatrix");
		struct matrix matrix;

		mkgguf_tensor(m, NAME ".in_sum2", GGML_F32, 1, row);
		mkgguf_tensor(m, NAME ".counts", GGML_F32, 1, one);
		mkgguf_tensor(m, "blk.1.ffn_up.weight.in_sum2", GGML_F32, 1, row);
		matrix = finish(m);
		for (uint32_t k = 0; k < 5000; k++)
			set(&matrix, SUMS, k, 1);
		set(&matrix, 2, i, NAN);
		assert_int_equal(check(&matrix, 5000, 1, &err), 0);
		set(&matrix, SUMS, i, NAN);
		assert_int_equal(check(&matrix, 5000, 1, &err), -EINVAL);
		assert_int_equal(err.offset, matrix.gguf->tensors[SUMS].offset + 4 * i);
		release(&matrix);
	}
}

static void file_that_has_shrunk_is_refused(void **state)
{
	struct matrix matrix = stack(EXPERTS, EXPERTS);

	(void)state;
	matrix.source.size = matrix.gguf->tensors[SUMS].offset + 4 * ROW * EXPERTS - 1;
	expect_refusal(&matrix, ROW, EXPERTS, "in_sum2");
	release(&matrix);
}

static int fail_to_read(void *context, void *bytes, size_t n, uint64_t offset)
{
	(void)context;
	(void)bytes;
	(void)n;
	(void)offset;
	return -EIO;
}

static void file_that_cannot_be_read_is_an_error(void **state)
{
	struct matrix matrix = stack(1, 1);
	struct error err = { 0 };
	float weights[ROW];

	(void)state;
	matrix.source.read_at = fail_to_read;
	assert_int_equal(importance_check(matrix.gguf, &matrix.source, &err), -EIO);
	assert_int_equal(read_as(&matrix, ROW, 1, 0, weights, &err), -EIO);
	release(&matrix);
}

static void only_an_importance_matrix_is_taken(void **state)
{
	static const char *const types[] = { NULL, "", "model", "imatrix!", "imatrix" };
	const uint64_t row[] = { ROW };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(types); i++) {
		struct mkgguf *m = begin(types[i / 2]);
		struct error err = { 0 };
		struct matrix matrix;
		int rc;

		if (i % 2)
			mkgguf_tensor(m, NAME ".in_sum2", GGML_F32, 1, row);
		matrix = finish(m);
		for (uint32_t k = 0; i % 2 && k < ROW; k++)
			set(&matrix, SUMS, k, 1);
		rc = importance_check(matrix.gguf, &matrix.source, &err);
		assert_int_equal(rc, i + 1 == 2 * ARRAY_LENGTH(types) ? 0 : -EINVAL);
		if (i / 2 + 1 < ARRAY_LENGTH(types))
			assert_non_null(strstr(err.text, "general.type is not imatrix"));
		release(&matrix);
	}
}

UNIT_MAIN(NULL, NULL)
