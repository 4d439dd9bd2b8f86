/* SPDX-License-Identifier: MIT */
/* test_quant.c - gguf/quant.c: every half, both ways; for all types the tensors of a model as
 * llama-quantize encodes them (golden_quantise.tsv), rows of odd values as ggml's functions do
 * (golden_quantise_rows.tsv), and the error. */
#include "gguf/cursor.h"
#include "gguf/dequant.h"
#include "gguf/importance.h"
#include "gguf/quant.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>
#include <inttypes.h>
#include <strings.h>
#include <xxhash.h>

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint16_t f16_of(float value)
{
	uint8_t bytes[2];

	quant_row(GGML_F16, &value, 1, NULL, bytes);
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint16_t bf16_of(float value)
{
	uint8_t bytes[2];

	quant_row(GGML_BF16, &value, 1, NULL, bytes);
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Value of a half by the format's definition. */
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

static void every_half_survives_encoding(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 0x10000; half++) {
		const float value = (float)value_of_half(half);

		if (isnan(value))
			continue;
		assert_int_equal(f16_of(value), half);
	}
}

/* The middle of two neighbouring halves rounds to the even one, other values to the nearer one.
 * The successor of the largest half counts as 65536. */
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

static void overflow_of_f16_is_infinite_and_nan_is_quiet(void **state)
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

/* XXH128 in the form of xxhsum. */
static void hash_text(XXH128_hash_t value, char text[33])
{
	snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, value.high64, value.low64);
}

/* The type with this name in lower case, or GGML_TYPES. */
static uint32_t type_named(const char *name)
{
	uint32_t type = 0;

	while (type < GGML_TYPES && !(type_find(type) && !strcasecmp(type_find(type)->name, name)))
		type++;
	return type;
}

struct opened {
	uint8_t *bytes;
	struct memory_bytes memory;
	struct gguf *gguf;
};

#define FILE_MAX ((size_t)2 << 20)

static struct opened open_file(const char *path)
{
	struct opened opened = { .bytes = malloc(FILE_MAX) };
	FILE *in = fopen(path, "rb");
	struct source source;

	assert_non_null(in);
	assert_non_null(opened.bytes);
	opened.memory.bytes = opened.bytes;
	opened.memory.size = fread(opened.bytes, 1, FILE_MAX, in);
	fclose(in);
	source = source_of_memory(&opened.memory);
	opened.gguf = gguf_read(&source, NULL);
	assert_non_null(opened.gguf);
	return opened;
}

static void close_file(struct opened *opened)
{
	gguf_free(opened->gguf);
	free(opened->bytes);
}

/* Values of a tensor; caller frees. */
static float *values_of(const struct opened *opened, const struct gguf_tensor *t)
{
	float *values = new_values(to_size(t->ne[0] * t->ne[1]));

	dequant_blocks(t->type, opened->bytes + t->offset, t->ne[0] * t->ne[1], values);
	return values;
}

/* Importance of a tensor, NULL if the matrix has none; caller frees. */
static float *importance_of(struct opened *matrix, const struct gguf_tensor *t)
{
	const struct source source = source_of_memory(&matrix->memory);
	float *weights;

	if (!importance_has(matrix->gguf, t->name, t->name_length))
		return NULL;
	weights = new_values(to_size(t->ne[0]));
	assert_int_equal(importance_read(matrix->gguf, &source, t->name, t->name_length, t->ne, 0,
					 weights, NULL),
			 0);
	return weights;
}

/* Encode the rows of a tensor one by one, and hash them. */
static void hash_tensor(uint32_t type, const struct gguf_tensor *t, const float *values,
			const float *importance, char hash[33])
{
	const struct type_info *info = type_find(type);
	const size_t row = to_size(t->ne[0] / info->block_elements * info->block_bytes);
	uint8_t *bytes = malloc(row * to_size(t->ne[1]));

	assert_non_null(bytes);
	for (uint64_t i = 0; i < t->ne[1]; i++)
		quant_row(type, values + i * t->ne[0], t->ne[0], importance, bytes + i * row);
	hash_text(XXH3_128bits(bytes, row * to_size(t->ne[1])), hash);
	free(bytes);
}

static void tensors_are_encoded_as_llama_quantize_does(void **state)
{
	struct opened model = open_file("tests/models/scribe-f16-tensors.gguf");
	struct opened matrix = open_file("tests/models/scribe-imatrix.gguf");
	FILE *table = fopen("tests/unit/golden_quantise.tsv", "r");
	char important[8], type_text[16], name[32], expected[40], hash[33];
	unsigned checked = 0;

	(void)state;
	assert_non_null(table);
	assert_int_equal(fscanf(table, "%*[^\n]"), 0);
	while (fscanf(table, "%7s %15s %31s %*s %*s %39s", important, type_text, name, expected) ==
	       4) {
		const struct gguf_tensor *t = gguf_tensor(model.gguf, name, strlen(name));
		float *values = values_of(&model, t), *importance = NULL;

		if (strcmp(important, "yes") == 0)
			importance = importance_of(&matrix, t);
		hash_tensor(type_named(type_text), t, values, importance, hash);
		if (strcmp(hash, expected) != 0)
			fail_msg("%s %s %s", important, type_text, name);
		free(values);
		free(importance);
		checked++;
	}
	assert_int_equal(checked, 280);
	fclose(table);
	close_file(&model);
	close_file(&matrix);
}

/* Kinds of rows, made with exact or ordered arithmetic, so that every machine makes the same. */
enum kind {
	NORMAL,
	OUTLIERS,
	ZEROS,
	CONSTANT,
	SPARSE, /* whole parts are zero */
	POSITIVE,
	NEGATIVE,
	LEVELS, /* few different values */
	TINY,	/* some types round them to zeros */
	SUBNORMAL,
	HUGE_VALUES, /* from here on ggml's IQ1_M, IQ3_XXS and IQ3_S abort */
	ANY,	     /* every finite float */
	UNBOUNDED,   /* NaN and infinities among normal values; the machine decides a NaN's sign */
	KINDS,
};

static float any_finite(uint32_t *random)
{
	const uint32_t high = (uint32_t)(lcg(random) * 65536.0);
	const uint32_t bits = high << 16 | (uint32_t)(lcg(random) * 65536.0);

	return (bits & 0x7f800000) == 0x7f800000 ? 0.0f : float_of(bits);
}

static float odd_value(enum kind kind, size_t i, uint32_t *random)
{
	const float x = (float)bell(random);
	const float odd = (float)lcg(random);

	switch (kind) {
	case OUTLIERS:
		return odd < 0.01f ? 64 * x : x;
	case CONSTANT:
		return 0.37f;
	case SPARSE:
		return i / 32 % 3 == 1 || odd < 0.5f ? 0.0f : x;
	case POSITIVE:
		return fabsf(x);
	case NEGATIVE:
		return -1 - fabsf(x);
	case LEVELS:
		return (float)(int)(3 * x);
	case TINY:
		return x * 0x1p-53f;
	case SUBNORMAL:
		return x * 0x1p-140f;
	case HUGE_VALUES:
		return x * 0x1p+100f;
	case ANY:
		return any_finite(random);
	case UNBOUNDED:
		return odd < 0.01f ? NAN : odd < 0.02f ? copysignf(INFINITY, x) : x;
	default:
		return kind == ZEROS ? 0.0f : x;
	}
}

/* Make a row of 1 to 8 blocks, and weights of which a third is 0. */
static size_t odd_row(enum kind kind, size_t block, size_t blocks, uint32_t *random, float *values,
		      float *importance)
{
	for (size_t i = 0; i < block * blocks; i++)
		values[i] = odd_value(kind, i, random);
	for (size_t i = 0; i < block * blocks; i++)
		importance[i] = lcg(random) < 0.33 ? 0.0f : 10 * (float)lcg(random);
	return block * blocks;
}

/* End of the generator. */

#define ODD_BLOCKS 8u
#define ODD_MOST   (ODD_BLOCKS * 256)

/* Hash rows of 1 to 8 blocks. Blocks of memory have exactly their size, so that a sanitizer sees
 * an access outside. */
static void hash_rows(uint32_t type, enum kind kind, bool important, char hash[33])
{
	const struct type_info *info = type_find(type);
	static float values[ODD_MOST], importance[ODD_MOST];
	XXH3_state_t *hashed = XXH3_createState();
	uint32_t random = kind + 1;

	assert_non_null(hashed);
	XXH3_128bits_reset(hashed);
	for (size_t blocks = 1; blocks <= ODD_BLOCKS; blocks++) {
		const size_t n =
			odd_row(kind, info->block_elements, blocks, &random, values, importance);
		uint8_t *bytes = malloc(blocks * info->block_bytes);
		float *x = new_values(n), *w = new_values(n);

		assert_non_null(bytes);
		memcpy(x, values, n * sizeof(*x));
		memcpy(w, importance, n * sizeof(*w));
		quant_row(type, x, n, important ? w : NULL, bytes);
		dequant_blocks(type, bytes, blocks, x);
		XXH3_128bits_update(hashed, bytes, blocks * info->block_bytes);
		free(bytes);
		free(x);
		free(w);
	}
	hash_text(XXH3_128bits_digest(hashed), hash);
	XXH3_freeState(hashed);
}

static void odd_rows_are_encoded_as_ggml_does(void **state)
{
	FILE *table = fopen("tests/unit/golden_quantise_rows.tsv", "r");
	char name[16], plain[40], important[40], hash[33];
	unsigned checked = 0, kind;

	(void)state;
	assert_non_null(table);
	assert_int_equal(fscanf(table, "%*[^\n]"), 0);
	while (fscanf(table, "%15s %u %39s %39s", name, &kind, plain, important) == 4) {
		checked++;
#ifndef __SSE__
		if (kind == UNBOUNDED)
			continue;
#endif
		hash_rows(type_named(name), kind, false, hash);
		if (strcmp(hash, plain) != 0)
			fail_msg("%s, kind %u", name, kind);
		hash_rows(type_named(name), kind, true, hash);
		if (strcmp(hash, important) != 0)
			fail_msg("%s, kind %u, with importance", name, kind);
	}
	assert_int_equal(checked, 21 * KINDS - 3 * (KINDS - HUGE_VALUES));
	fclose(table);
}

/* ggml has no result; ours is defined, without an access outside. */
static void rows_at_which_ggml_aborts_are_encoded(void **state)
{
	static const uint32_t types[] = { GGML_IQ1_M, GGML_IQ3_XXS, GGML_IQ3_S };
	char hash[33];

	(void)state;
	for (unsigned kind = HUGE_VALUES; kind < KINDS; kind++) {
		for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
			hash_rows(types[i], kind, false, hash);
			hash_rows(types[i], kind, true, hash);
		}
	}
}

/* Weighted error of a row, relative to the row; weights NULL: all are 1. */
static double row_error(uint32_t type, const float *x, size_t n, const float *importance,
			const float *weights)
{
	const struct type_info *info = type_find(type);
	static uint8_t bytes[4096 * sizeof(float)];
	static float back[4096];
	double error = 0, whole = 0;

	quant_row(type, x, n, importance, bytes);
	dequant_blocks(type, bytes, n / info->block_elements, back);
	for (size_t i = 0; i < n; i++) {
		const double off = (double)back[i] - (double)x[i];
		const double w = weights ? (double)weights[i] : 1;

		error += w * off * off;
		whole += w * (double)x[i] * (double)x[i];
	}
	return sqrt(error / whole);
}

/* The largest error of normal values, and the largest share of the weighted error that remains
 * with importance. */
static const struct {
	uint32_t type;
	double error, left;
} errors[] = {
	{ GGML_F32, 0, 1 },	    { GGML_F16, 0.0003, 1 },	 { GGML_BF16, 0.002, 1 },
	{ GGML_Q4_0, 0.09, 0.92 },  { GGML_Q4_1, 0.08, 0.85 },	 { GGML_Q5_0, 0.045, 0.9 },
	{ GGML_Q5_1, 0.04, 0.85 },  { GGML_Q8_0, 0.006, 1 },	 { GGML_Q2_K, 0.3, 0.82 },
	{ GGML_Q3_K, 0.16, 0.9 },   { GGML_Q4_K, 0.075, 0.95 },	 { GGML_Q5_K, 0.038, 0.95 },
	{ GGML_Q6_K, 0.018, 0.95 }, { GGML_IQ1_M, 0.6, 0.75 },	 { GGML_IQ3_XXS, 0.23, 0.65 },
	{ GGML_IQ3_S, 0.17, 0.7 },  { GGML_IQ4_NL, 0.08, 0.95 }, { GGML_IQ4_XS, 0.08, 0.95 },
	{ GGML_TQ1_0, 0.8, 1 },	    { GGML_TQ2_0, 0.8, 1 },	 { GGML_MXFP4, 0.12, 1 },
	{ GGML_NVFP4, 0.1, 1 },	    { GGML_Q1_0, 0.61, 1 },	 { GGML_Q2_0, 0.74, 1 },
};

static void values_come_back_within_the_error_of_the_type(void **state)
{
	static float x[4096], importance[4096];
	uint32_t random = 7;
	size_t supported = 0;

	(void)state;
	odd_row(NORMAL, 256, 16, &random, x, importance);
	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		const uint32_t type = errors[i].type;
		const double plain = row_error(type, x, 4096, NULL, importance);
		const double important = row_error(type, x, 4096, importance, importance);

		assert_true(row_error(type, x, 4096, NULL, NULL) <= errors[i].error);
		assert_true(important <= plain * errors[i].left);
	}
	for (uint32_t type = 0; type < TYPE_IDS; type++)
		supported += quant_supported(type);
	assert_int_equal(supported, ARRAY_LENGTH(errors));
}

static void rows_without_importance_are_encoded_as_one(void **state)
{
	static float x[4096], importance[4096];
	static uint8_t all[4096 * sizeof(float)], row[256 * sizeof(float)];
	uint32_t random = 11;

	(void)state;
	odd_row(OUTLIERS, 256, 16, &random, x, importance);
	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		const struct type_info *info = type_find(errors[i].type);
		const size_t size = 256 / info->block_elements * info->block_bytes;

		quant_row(errors[i].type, x, 4096, NULL, all);
		for (size_t k = 0; k < 16; k++) {
			quant_row(errors[i].type, x + 256 * k, 256, NULL, row);
			assert_memory_equal(row, all + size * k, size);
		}
	}
}

static void rows_of_zeros_come_back_as_zeros(void **state)
{
	static const float zeros[256], ones[256] = { 1, 1, 1 };
	static uint8_t bytes[sizeof(zeros)];
	float back[256];

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(errors); i++) {
		const uint32_t type = errors[i / 2].type;

		quant_row(type, zeros, 256, i % 2 ? ones : NULL, bytes);
		dequant_blocks(type, bytes, 256 / type_find(type)->block_elements, back);
		for (int k = 0; k < 256; k++)
			assert_true(back[k] == 0.0f);
	}
}

static void the_largest_value_of_a_type_is_finite_in_it(void **state)
{
	static uint8_t bytes[256 * sizeof(float)];
	uint32_t random = 13;

	(void)state;
	for (size_t i = 0; i < 16 * ARRAY_LENGTH(errors); i++) {
		const uint32_t type = errors[i / 16].type;
		float values[256], back[256];

		for (int k = 0; k < 256; k++)
			values[k] =
				quant_max(type) * (lcg(&random) < (double)(i % 16) / 15 ? 1 : -1);
		for (size_t k = 0; k < 16 * (i % 16); k++)
			values[k] *= (float)lcg(&random);
		quant_row(type, values, 256, NULL, bytes);
		dequant_blocks(type, bytes, 256 / type_find(type)->block_elements, back);
		for (int k = 0; k < 256; k++)
			assert_true(isfinite(back[k]));
	}
}

/* ggml stores the points and signs behind a part of zeros one part too early. */
static void part_of_zeros_moves_later_parts_of_iq3_s(void **state)
{
	float values[256] = { 0 };
	uint8_t block[110];

	(void)state;
	for (int i = 64; i < 256; i++)
		values[i] = i < 96 ? -1.0f : 1.0f;
	quant_row(GGML_IQ3_S, values, 256, NULL, block);
	for (int i = 0; i < 32; i++)
		assert_int_equal(block[74 + i], i < 4 ? 0xff : 0);
}

UNIT_MAIN(NULL, NULL)
