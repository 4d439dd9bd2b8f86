/* SPDX-License-Identifier: MIT */
/* test_quantise.c - measure/quantise.c: every half there and back, the limits of rounding, and the
 * tensors of a model that llama-quantize has quantised. */
#include "measure/quantise.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <endian.h>
#include <float.h>

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint16_t f16_of(float value)
{
	uint8_t bytes[2];

	quantise_f16(&value, 1, bytes);
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint16_t bf16_of(float value)
{
	uint8_t bytes[2];

	quantise_bf16(&value, 1, bytes);
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Its value by the format's definition. */
static double value_of_half(unsigned half)
{
	const int exponent = half >> 10 & 31, mantissa = half & 0x3ff;
	const double sign = half & 0x8000 ? -1.0 : 1.0;

	if (exponent == 31)
		return sign * (double)(mantissa ? NAN : INFINITY);
	if (exponent == 0)
		return sign * ldexp(mantissa, -24);
	return sign * ldexp(1024 + mantissa, exponent - 25);
}

static void every_half_comes_back(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 0x10000; half++) {
		const float value = (float)value_of_half(half);

		if (isnan(value))
			continue;
		assert_int_equal(f16_of(value), half);
	}
}

/* Between two neighbouring halves: the middle goes to the even one, what is beside it to the nearer
 * one. The next after the largest counts as 65536. */
static void the_middle_of_two_halves_goes_to_the_even_one(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 0x7c00; half++) {
		const double low = value_of_half(half);
		const double high = half == 0x7bff ? 65536.0 : value_of_half(half + 1);
		const float middle = (float)(0.5 * (low + high));
		const unsigned even = half & 1 ? half + 1 : half;

		assert_int_equal(f16_of(middle), even);
		assert_int_equal(f16_of(-middle), even | 0x8000);
		assert_int_equal(f16_of(nextafterf(middle, 0.0f)), half);
		assert_int_equal(f16_of(nextafterf(middle, INFINITY)), half + 1);
	}
}

static void what_no_half_can_hold_is_infinite_or_the_quiet_nan(void **state)
{
	(void)state;
	assert_int_equal(f16_of(65504.0f), 0x7bff);
	assert_int_equal(f16_of(65520.0f), 0x7c00);
	assert_int_equal(f16_of(FLT_MAX), 0x7c00);
	assert_int_equal(f16_of(-INFINITY), 0xfc00);
	assert_int_equal(f16_of(0x1p-149f), 0);
	assert_int_equal(f16_of(-0x1p-149f), 0x8000);
	assert_int_equal(f16_of(float_of(0x7f800001)), 0x7e00);
	assert_int_equal(f16_of(float_of(0xffffffff)), 0xfe00);
}

static void bf16_is_the_nearest_upper_half(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (uint32_t upper = 0; upper < 0x10000; upper++) {
		const uint32_t bits = upper << 16, even = upper + (upper & 1);

		if (isnan(float_of(bits))) {
			assert_int_equal(bf16_of(float_of(bits)), upper | 0x40);
			continue;
		}
		assert_int_equal(bf16_of(float_of(bits)), upper);
		if ((upper & 0x7fff) == 0x7f80)
			continue;
		random = 1664525u * random + 1013904223u;
		assert_int_equal(bf16_of(float_of(bits | (random >> 17))), upper);
		assert_int_equal(bf16_of(float_of(bits | 0x7fff)), upper);
		assert_int_equal(bf16_of(float_of(bits | 0x8000)), even);
		assert_int_equal(bf16_of(float_of(bits | 0x8001)), upper + 1);
	}
	assert_int_equal(bf16_of(float_of(0x7f800001)), 0x7fc0);
	assert_int_equal(bf16_of(float_of(0xff80ffff)), 0xffc0);
	assert_int_equal(bf16_of(0x1p-149f), 0);
	assert_int_equal(bf16_of(FLT_MAX), 0x7f80);
}

/* The reference, one step after the other. */
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

static void blocks_are_what_the_reference_makes(void **state)
{
	float values[96];
	uint8_t bytes[103], expected[102];
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		const double height = ldexp(1.0, round % 200 - 120);

		for (size_t i = 0; i < 96; i++)
			values[i] = (float)(height * bell(&random));
		/* Quotients in the middle between two numbers: of 127. */
		if (round % 3 == 0)
			for (size_t i = 0; i < 32; i++)
				values[i] = (i ? (float)i - 15.5f : 127.0f) * (float)height;
		if (round % 7 == 0)
			memset(values + 64, 0, 32 * sizeof(float));
		bytes[102] = 0xa5;
		quantise_q8_0(values, 96, bytes);
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
		quantise_q8_0(values, 32, block);
		for (size_t i = 1; i < 7; i++)
			assert_int_equal((int8_t)block[2 + i], (int)roundf(values[i]));
	}
}

static void values_without_a_quotient_become_0(void **state)
{
	float values[32] = { 1.0f, -2.0f };
	uint8_t block[34], zeros[32] = { 0 };

	(void)state;
	/* The scale counts only what comes after a NaN. */
	values[5] = NAN;
	values[6] = 127.0f;
	quantise_q8_0(values, 32, block);
	assert_int_equal(block[0] | block[1] << 8, 0x3c00);
	assert_int_equal(block[2 + 0], 1);
	assert_int_equal((int8_t)block[2 + 1], -2);
	assert_int_equal(block[2 + 5], 0);
	assert_int_equal(block[2 + 6], 127);
	values[7] = -INFINITY;
	quantise_q8_0(values, 32, block);
	assert_int_equal(block[0] | block[1] << 8, 0x7c00);
	assert_memory_equal(block + 2, zeros, 32);
	/* The inverse of the scale is infinite. */
	for (size_t i = 0; i < 32; i++)
		values[i] = 0x1p-140f;
	quantise_q8_0(values, 32, block);
	assert_memory_equal(block, zeros, 32);
}

static void the_most_of_each_type_stays_finite(void **state)
{
	float values[32] = { QUANTISE_Q8_0_MOST };
	uint8_t block[34];

	(void)state;
	assert_int_equal(f16_of(QUANTISE_F16_MOST), 0x7bff);
	assert_int_equal(bf16_of(QUANTISE_BF16_MOST), 0x7f7f);
	quantise_q8_0(values, 32, block);
	assert_int_equal(block[0] | block[1] << 8, 0x7bff);
}

/* Where tensors of tests/models/stories260K.gguf and of its quantised form begin. */
static const struct {
	long values, blocks;
	size_t count;
} tensors[] = {
	{ 14176, 14240, 64 * 512 },  { 145504, 49312, 64 * 512 },  { 276576, 84128, 64 * 64 },
	{ 292960, 88480, 64 * 32 },  { 301152, 90656, 64 * 32 },   { 309344, 92832, 64 * 64 },
	{ 325984, 97440, 64 * 172 }, { 414048, 153184, 64 * 172 },
};

static void read_at(const char *path, long offset, void *bytes, size_t n)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fread(bytes, 1, n, file), n);
	fclose(file);
}

static void read_values(long offset, float *values, size_t n)
{
	read_at("tests/models/stories260K.gguf", offset, values, n * sizeof(*values));
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		values[i] = float_of(le32toh(bits));
	}
}

static void a_model_becomes_what_llama_quantize_made_of_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(tensors); i++) {
		const size_t n = tensors[i].count, size = n / 32 * 34;
		float *values = new_values(n);
		uint8_t *blocks = malloc(size), *expected = malloc(size);

		assert_true(blocks && expected);
		read_values(tensors[i].values, values, n);
		read_at("tests/models/stories260K-q8_0.gguf", tensors[i].blocks, expected, size);
		quantise_q8_0(values, n, blocks);
		assert_memory_equal(blocks, expected, size);
		free(values);
		free(blocks);
		free(expected);
	}
}

UNIT_MAIN(NULL, NULL)
