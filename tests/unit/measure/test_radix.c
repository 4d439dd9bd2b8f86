/* SPDX-License-Identifier: MIT */
/* test_radix.c - measure/radix.c: keys in the order of their numbers, and sorting them. */
#include "measure/radix.h"
#include "tests/unit/unit.h"

#include <float.h>

static const float ascending[] = { -FLT_MAX,  -1e10f, -1.5f, -1.0f,   -FLT_MIN, -0x1p-149f, 0.0f,
				   0x1p-149f, 1e-40f, 1.0f,  1.0001f, 3e38f,	FLT_MAX };

static void keys_ascend_with_the_numbers_and_lead_back_to_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ascending); i++) {
		assert_memory_equal(&(float){ radix_value(radix_key(ascending[i])) }, &ascending[i],
				    sizeof(float));
		if (i > 0)
			assert_true(radix_key(ascending[i - 1]) < radix_key(ascending[i]));
	}
}

static void both_zeros_have_one_key(void **state)
{
	(void)state;
	assert_int_equal(radix_key(-0.0f), radix_key(0.0f));
}

static void the_key_above_a_bound_is_the_next_number(void **state)
{
	(void)state;
	assert_int_equal(radix_key_above(1.0), radix_key(1.0f + FLT_EPSILON));
	assert_int_equal(radix_key_above(1.0 - 1e-12), radix_key(1.0f));
	assert_int_equal(radix_key_above(1.0 + 1e-12), radix_key(1.0f + FLT_EPSILON));
	assert_int_equal(radix_key_above(0.0), radix_key(0x1p-149f));
	assert_int_equal(radix_key_above(-0x1p-149), radix_key(0.0f));
	assert_true(radix_key_above((double)INFINITY) > radix_key(FLT_MAX));
}

static int compare_floats(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Sort random bits, with every exponent, both signs, and NaNs; mask: the bits that may be set. */
static void check_sort(size_t n, uint32_t mask)
{
	float *values = malloc((n + 1) * sizeof(*values)),
	      *finite = malloc((n + 1) * sizeof(*finite));
	uint32_t *keys = malloc((2 * n + 1) * sizeof(*keys)), random = 7, *sorted;
	size_t count = 0;

	assert_true(values && finite && keys);
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		random = 1664525u * random + 1013904223u;
		bits = (random ^ random >> 15) & mask;
		memcpy(&values[i], &bits, sizeof(bits));
		if (isfinite(values[i]))
			finite[count++] = values[i];
	}
	keys[2 * n] = 0xdeadbeef;
	sorted = radix_sort(values, n, keys, keys + n);
	assert_true(sorted == keys || sorted == keys + n);
	assert_int_equal(keys[2 * n], 0xdeadbeef);
	qsort(finite, count, sizeof(*finite), compare_floats);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sorted[i], radix_key(finite[i]));
	free(values);
	free(finite);
	free(keys);
}

static void sort_equals_qsort_without_non_finite_values(void **state)
{
	static const uint32_t masks[] = { 0xffffffff, 0xffff0000, 0xfffff800, 0x803fffff,
					  0x80000000, 0xff800000, 0x000007ff, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(masks); i++)
		for (size_t n = 0; n < 20000; n = n * 3 + 1)
			check_sort(n, masks[i]);
}

UNIT_MAIN(NULL, NULL)
