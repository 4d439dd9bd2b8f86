/* SPDX-License-Identifier: MIT */
/* test_lora.c - measure/lora.c: the order of the steps, and their rounding. */
#include "measure/lora.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

/* The header's formula, step by step. */
static float merged(float w, const float *a, const float *b, size_t n, size_t rank, float factor)
{
	volatile float sum = 0.0f, product;

	for (size_t r = 0; r < rank; r++) {
		product = b[r] * a[r * n];
		sum = sum + product;
	}
	product = factor * sum;
	return w + product;
}

static void every_length_and_rank_is_merged_to_the_bit(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 31, 32, 33, 64, 100, 288 };
	float *a = new_values(288 * 64), b[64], row[289], before[288];
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < 288 * 64; i++)
		a[i] = (float)bell(&random);
	for (size_t l = 0; l < ARRAY_LENGTH(lengths); l++)
		for (size_t rank = 1; rank <= 64; rank += rank < 8 ? 1 : 28) {
			const size_t n = lengths[l];

			for (size_t r = 0; r < rank; r++)
				b[r] = (float)bell(&random);
			for (size_t i = 0; i < n; i++)
				before[i] = row[i] = (float)bell(&random);
			row[n] = 935.0f;
			lora_add(row, n, a, b, rank, 0.3f);
			for (size_t i = 0; i < n; i++)
				assert_true(row[i] == merged(before[i], a + i, b, n, rank, 0.3f));
			assert_true(row[n] == 935.0f);
		}
	free(a);
}

/* The product is 1 + 2^-11 + 2^-24: a float keeps the first two terms, a fused multiply-add would
 * keep the third. */
static void products_are_rounded_before_they_are_added(void **state)
{
	float a[40], b[] = { 1.0f, 1.0f + 0x1p-12f }, row[20] = { 0 };

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		a[i] = -1.0f - 0x1p-11f;
		a[20 + i] = 1.0f + 0x1p-12f;
	}
	lora_add(row, 20, a, b, 2, 1.0f);
	assert_true(row[0] == 0.0f && row[19] == 0.0f);
}

static void large_parts_cancel_before_small_ones_only_in_order(void **state)
{
	float a[] = { 0x1p24f, 1.0f, -0x1p24f }, b[] = { 1.0f, 1.0f, 1.0f }, row[] = { 0.0f };

	(void)state;
	lora_add(row, 1, a, b, 3, 1.0f);
	assert_true(row[0] == 0.0f);
	a[1] = -0x1p24f;
	a[2] = 1.0f;
	lora_add(row, 1, a, b, 3, 1.0f);
	assert_true(row[0] == 1.0f);
}

static void a_factor_of_0_changes_nothing(void **state)
{
	float a[64], b[] = { 1.0f }, row[64], before[64];
	uint32_t random = 5;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(row); i++) {
		a[i] = (float)bell(&random);
		before[i] = row[i] = (float)bell(&random);
	}
	lora_add(row, ARRAY_LENGTH(row), a, b, 1, 0.0f);
	assert_memory_equal(row, before, sizeof(row));
}

static void the_factor_is_the_scale_times_alpha_over_rank(void **state)
{
	(void)state;
	assert_true(lora_factor(1.0f, 16.0f, 8) == 2.0f);
	assert_true(lora_factor(0.5f, 16.0f, 64) == 0.125f);
	assert_true(lora_factor(-1.5f, 0.0f, 64) == -1.5f);
	assert_true(lora_factor(0.0f, 16.0f, 8) == 0.0f);
}

UNIT_MAIN(NULL, NULL)
