/* SPDX-License-Identifier: MIT */
/* test_quant_simple.c - gguf/quant_simple.c: blocks of Q8_0, and the limits of rounding.
 * test_quant.c compares all types with ggml. */
#include "gguf/quant.h"
#include "gguf/types.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

static uint16_t f16_of(float value)
{
	uint8_t bytes[2];

	quant_row(GGML_F16, &value, 1, NULL, bytes);
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* The reference, in plain C. */
static void quantise_plainly(const float *values, uint8_t *block)
{
	float largest = 0.0f, scale, inverse;
	uint16_t half;

	for (size_t i = 0; i < 32; i++)
		largest = fmaxf(largest, fabsf(values[i]));
	scale = largest / 127.0f;
	inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
	half = f16_of(scale);
	block[0] = (uint8_t)half;
	block[1] = (uint8_t)(half >> 8);
	for (size_t i = 0; i < 32; i++)
		block[2 + i] = (uint8_t)(int8_t)roundf(values[i] * inverse);
}

static void blocks_equal_those_of_the_reference(void **state)
{
	float values[96];
	uint8_t bytes[103], expected[102];
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		const double height = ldexp(1.0, round % 200 - 120);

		for (size_t i = 0; i < 96; i++)
			values[i] = (float)(height * bell(&random));
		/* In every third round the first block's quotients lie halfway between integers. */
		if (round % 3 == 0)
			for (size_t i = 0; i < 32; i++)
				values[i] = (i ? (float)i - 15.5f : 127.0f) * (float)height;
		if (round % 7 == 0)
			memset(values + 64, 0, 32 * sizeof(float));
		bytes[102] = 0xa5;
		quant_row(GGML_Q8_0, values, 96, NULL, bytes);
		for (size_t i = 0; i < 3; i++)
			quantise_plainly(values + 32 * i, expected + 34 * i);
		assert_memory_equal(bytes, expected, 102);
		assert_int_equal(bytes[102], 0xa5);
	}
}

static void rounding_is_that_of_roundf(void **state)
{
	float values[32] = { 127.0f };
	uint8_t block[34];

	(void)state;
	/* The scale is 1, so the values are the quotients. */
	for (int whole = 0; whole < 127; whole++) {
		const float middle = (float)whole + 0.5f;

		values[1] = middle;
		values[2] = nextafterf(middle, 0.0f);
		values[3] = nextafterf(middle, 200.0f);
		for (size_t i = 0; i < 3; i++)
			values[4 + i] = -values[1 + i];
		quant_row(GGML_Q8_0, values, 32, NULL, block);
		for (size_t i = 1; i < 7; i++)
			assert_int_equal((int8_t)block[2 + i], (int)roundf(values[i]));
	}
}

static void values_without_a_quotient_become_0(void **state)
{
	float values[32] = { 1.0f, -2.0f };
	uint8_t block[34], zeros[32] = { 0 };

	(void)state;
	/* Only values after a NaN determine the scale. */
	values[5] = NAN;
	values[6] = 127.0f;
	quant_row(GGML_Q8_0, values, 32, NULL, block);
	assert_int_equal(block[0] | block[1] << 8, 0x3c00);
	assert_int_equal(block[2 + 0], 1);
	assert_int_equal((int8_t)block[2 + 1], -2);
	assert_int_equal(block[2 + 5], 0);
	assert_int_equal(block[2 + 6], 127);
	values[7] = -INFINITY;
	quant_row(GGML_Q8_0, values, 32, NULL, block);
	assert_int_equal(block[0] | block[1] << 8, 0x7c00);
	assert_memory_equal(block + 2, zeros, 32);
	/* The inverse of the scale is infinite. */
	for (size_t i = 0; i < 32; i++)
		values[i] = 0x1p-140f;
	quant_row(GGML_Q8_0, values, 32, NULL, block);
	assert_memory_equal(block, zeros, 32);
}

UNIT_MAIN(NULL, NULL)
