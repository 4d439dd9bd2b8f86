/* SPDX-License-Identifier: MIT */
/* test_requantised_loss.c - fs/tensor/requantised_loss.c: the error of a tensor in another type,
 * against a loop over all values. */
#include "fs/storage/backing.h"
#include "fs/tensor/requantised.h"
#include "fs/tensor/requantised_loss.h"
#include "gguf/quant.h"
#include "tests/unit/tensor_file.h"
#include "tests/unit/zinputs.h"

#include <math.h>

/* More values than a range, and not a multiple of it. */
#define ROW  256u
#define ROWS 300u

static const uint64_t long_ne[] = { ROW, ROWS };

static double loss_of(const struct tensor_file *t, uint32_t type)
{
	double loss;

	must(requantised_loss(&t->located, type, NULL, NULL, &loss) == 0);
	return loss;
}

/* Expected error, with all values in one row. */
static double expected_loss(const struct tensor_file *t, uint32_t type)
{
	const struct organ made = requantised_organ(&t->located.organ, type);
	uint8_t *bytes = malloc(made.data_size);
	float *back = new_values(to_size(t->elements));
	double errors = 0, squares = 0;

	must(bytes);
	quant_row(type, t->values, t->elements, NULL, bytes);
	dequant_blocks(type, bytes, t->elements / type_find(type)->block_elements, back);
	for (size_t i = 0; i < t->elements; i++) {
		const double x = t->values[i], off = x - back[i];

		errors += off * off;
		squares += x * x;
	}
	free(bytes);
	free(back);
	return sqrt(errors / squares);
}

/* n normal values in F32; caller frees. */
static float *bells(size_t n)
{
	float *values = new_values(n);
	uint32_t random = 5;

	for (size_t i = 0; i < n; i++)
		values[i] = (float)bell(&random);
	return values;
}

static void loss_is_that_of_a_loop_over_all_values(void **state)
{
	static const uint32_t to[] = { GGML_F32,  GGML_F16,  GGML_BF16,	 GGML_Q8_0,
				       GGML_Q4_0, GGML_Q4_K, GGML_TQ1_0, GGML_MXFP4 };
	float *values = bells(ROW * ROWS);

	for (int from = 0; from < 2; from++) {
		struct tensor_file t = new_tensor(state, "t", from ? GGML_Q6_K : GGML_F32, 2,
						  long_ne, from ? NULL : values);

		for (size_t i = 0; i < ARRAY_LENGTH(to); i++) {
			const double loss = loss_of(&t, to[i]), expected = expected_loss(&t, to[i]);

			if (!(fabs(loss - expected) <= 1e-12 * expected))
				fail_msg("type %u: %.17g, not %.17g", to[i], loss, expected);
		}
		free_tensor(&t);
	}
	free(values);
}

static void fewer_bits_lose_more(void **state)
{
	static const uint32_t narrower[] = { GGML_F32,	GGML_F16,  GGML_Q8_0, GGML_Q6_K,
					     GGML_Q5_0, GGML_Q4_0, GGML_Q2_K, GGML_Q1_0 };
	float *values = bells(ROW * ROWS);
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, long_ne, values);

	for (size_t i = 1; i < ARRAY_LENGTH(narrower); i++)
		assert_true(loss_of(&t, narrower[i - 1]) < loss_of(&t, narrower[i]));
	free_tensor(&t);
	free(values);
}

static void own_type_loses_nothing_and_is_not_read(void **state)
{
	struct tensor_file t = new_tensor(state, "t", GGML_Q4_0, 2, long_ne, NULL);
	struct organ_location nowhere = { .organ = t.located.organ };
	double loss = 1;

	assert_int_equal(requantised_loss(&nowhere, GGML_Q4_0, NULL, NULL, &loss), 0);
	assert_true(loss == 0);
	free_tensor(&t);
}

static void zeros_lose_nothing(void **state)
{
	static const float zeros[ROW];
	const uint64_t ne[] = { ROW };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 1, ne, zeros);

	assert_true(loss_of(&t, GGML_Q4_K) == 0);
	free_tensor(&t);
}

static void value_that_is_or_becomes_infinite_makes_the_loss_unknown(void **state)
{
	float values[ROW] = { 1, 1e6f };
	const uint64_t ne[] = { ROW };
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 1, ne, values);

	assert_true(isnan(loss_of(&t, GGML_F16)));
	assert_true(loss_of(&t, GGML_BF16) < 0.01);
	free_tensor(&t);
	values[0] = INFINITY;
	t = new_tensor(state, "t", GGML_F32, 1, ne, values);
	assert_true(isnan(loss_of(&t, GGML_BF16)));
	free_tensor(&t);
}

static void stopped_loss_is_not_computed(void **state)
{
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, long_ne, NULL);
	const atomic_bool stop = true;
	double loss;

	assert_int_equal(requantised_loss(&t.located, GGML_Q8_0, NULL, &stop, &loss), -EINTR);
	free_tensor(&t);
}

static void file_that_is_gone_or_changed_is_told_apart(void **state)
{
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, long_ne, NULL);
	struct organ_location nowhere = { .organ = t.located.organ };
	double loss;

	assert_int_equal(requantised_loss(&nowhere, GGML_Q8_0, NULL, NULL, &loss), -ENOTSUP);
	write_file(in_temp(state, "tensor").text, t.bytes, 77);
	assert_int_equal(requantised_loss(&t.located, GGML_Q8_0, NULL, NULL, &loss), -EIO);
	free_tensor(&t);
}

static void without_memory_there_is_no_loss(void **state)
{
	struct tensor_file t = new_tensor(state, "t", GGML_F32, 2, long_ne, NULL);
	double loss;

	needs_failing_allocations();
	for (unsigned k = 1;; k++) {
		int rc;

		allocation_fails(k);
		rc = requantised_loss(&t.located, GGML_Q8_0, NULL, NULL, &loss);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
	}
	free_tensor(&t);
}

UNIT_MAIN(temp_setup, temp_teardown)
