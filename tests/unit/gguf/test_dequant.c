/* SPDX-License-Identifier: MIT */
/* test_dequant.c - gguf/dequant.c: every type, every value, against libggml's result for the same
 * blocks: real weights (types.gguf) and random bytes (types-stress.gguf). types-f32.tsv has XXH128
 * of the float32 values. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/dequant.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <xxhash.h>

#define MODEL_MAX ((size_t)1 << 20)
#define ELEMENTS  8192

struct opened {
	uint8_t *bytes;
	struct memory_bytes memory;
	struct gguf *gguf;
};

static struct opened open_types(const char *stem)
{
	struct opened types = { .bytes = malloc(MODEL_MAX) };
	char path[64];
	struct source source;
	FILE *in;

	snprintf(path, sizeof(path), "tests/models/%s.gguf", stem);
	in = fopen(path, "rb");
	assert_non_null(in);
	assert_non_null(types.bytes);
	types.memory.bytes = types.bytes;
	types.memory.size = fread(types.bytes, 1, MODEL_MAX, in);
	fclose(in);
	source = source_of_memory(&types.memory);
	types.gguf = gguf_read(&source, NULL);
	assert_non_null(types.gguf);
	return types;
}

static void close_types(struct opened *types)
{
	gguf_free(types->gguf);
	free(types->bytes);
}

static void assert_tensor(const struct opened *types, const char *name, const char *expected)
{
	const struct gguf_tensor *t = gguf_tensor(types->gguf, name, strlen(name));
	static float values[ELEMENTS];
	char hash[33];
	XXH128_hash_t value;

	assert_non_null(t);
	assert_int_equal(t->ne[0] * t->ne[1], ELEMENTS);
	assert_true(dequant_supported(t->type));
	dequant_blocks(t->type, types->bytes + t->offset,
		       ELEMENTS / type_find(t->type)->block_elements, values);
	/* The hashes are of little-endian values. */
	for (size_t i = 0; i < ELEMENTS; i++) {
		uint32_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		store_u32((uint8_t *)&values[i], bits);
	}
	value = XXH3_128bits(values, sizeof(values));
	snprintf(hash, sizeof(hash), "%016" PRIx64 "%016" PRIx64, value.high64, value.low64);
	if (strcmp(hash, expected) != 0)
		print_error("%s\n", name);
	assert_string_equal(hash, expected);
}

static void every_value_of_every_type_is_ggmls(void **state)
{
	struct opened types[2] = { open_types("types"), open_types("types-stress") };
	FILE *in = fopen("tests/unit/types-f32.tsv", "r");
	char file[32], name[32], hash[40];
	int rows = 0;

	(void)state;
	assert_non_null(in);
	assert_int_equal(fscanf(in, "%31s %31s %39s", file, name, hash), 3);
	while (fscanf(in, "%31s %31s %39s", file, name, hash) == 3) {
		assert_tensor(&types[strcmp(file, "types-stress") == 0], name, hash);
		rows++;
	}
	assert_int_equal(rows, types[0].gguf->n_tensors + types[1].gguf->n_tensors);
	fclose(in);
	close_types(&types[0]);
	close_types(&types[1]);
}

/* Check a range decoded alone. Its blocks are in memory of their own, so that a sanitizer sees an
 * access outside. */
static void assert_range(const struct opened *types, const struct gguf_tensor *t,
			 const float *whole, uint64_t first, uint64_t count)
{
	const struct type_info *info = type_find(t->type);
	const uint64_t block = first / info->block_elements;
	const uint64_t end = (first + count + info->block_elements - 1) / info->block_elements;
	const size_t size = (size_t)((end - block) * info->block_bytes);
	uint8_t *bytes = malloc(size + 1);
	float *out = malloc(to_size(count + 1) * sizeof(*out));

	assert_non_null(bytes);
	assert_non_null(out);
	memcpy(bytes, types->bytes + t->offset + block * info->block_bytes, size);
	dequant_range(t->type, bytes, first % info->block_elements, count, out);
	assert_memory_equal(out, whole + first, to_size(count) * sizeof(*out));
	free(bytes);
	free(out);
}

static void any_range_decodes_alone(void **state)
{
	struct opened types = open_types("types-stress");
	static float whole[ELEMENTS];
	uint32_t seed = 935;

	(void)state;
	for (uint32_t i = 0; i < types.gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &types.gguf->tensors[i];

		dequant_blocks(t->type, types.bytes + t->offset,
			       ELEMENTS / type_find(t->type)->block_elements, whole);
		assert_range(&types, t, whole, 0, 0);
		assert_range(&types, t, whole, 0, ELEMENTS);
		assert_range(&types, t, whole, ELEMENTS - 1, 1);
		for (int k = 0; k < 50; k++) {
			uint64_t first, count;

			seed = seed * 1664525 + 1013904223;
			first = (seed >> 8) % ELEMENTS;
			seed = seed * 1664525 + 1013904223;
			count = 1 + (seed >> 8) % (k % 2 ? 600 : ELEMENTS);
			if (count > ELEMENTS - first)
				count = ELEMENTS - first;
			assert_range(&types, t, whole, first, count);
		}
	}
	close_types(&types);
}

/* Blocks may begin at any byte. */
static void blocks_decode_at_any_address(void **state)
{
	struct opened types = open_types("types-stress");
	static float whole[ELEMENTS], values[ELEMENTS];
	uint8_t *moved = malloc(ELEMENTS * sizeof(double) + 7);

	(void)state;
	assert_non_null(moved);
	for (uint32_t i = 0; i < types.gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &types.gguf->tensors[i];
		const uint64_t blocks = ELEMENTS / type_find(t->type)->block_elements;

		dequant_blocks(t->type, types.bytes + t->offset, blocks, whole);
		for (int k = 1; k < 8; k++) {
			memcpy(moved + k, types.bytes + t->offset, to_size(t->size));
			dequant_blocks(t->type, moved + k, blocks, values);
			assert_memory_equal(values, whole, sizeof(values));
		}
	}
	free(moved);
	close_types(&types);
}

/* Values of all 65,536 halves follow from their definition. */
static void every_half_is_decoded_from_its_bits(void **state)
{
	(void)state;
	for (uint32_t half = 0; half < 0x10000; half++) {
		const uint8_t bytes[2] = { (uint8_t)half, (uint8_t)(half >> 8) };
		const int exponent = half >> 10 & 31, mantissa = half & 1023;
		double expected = exponent ? 1024 + mantissa : mantissa;
		float value;

		dequant_blocks(GGML_F16, bytes, 1, &value);
		if (exponent == 31) {
			assert_true(mantissa ? value != value : value > 3e38f || value < -3e38f);
			continue;
		}
		for (int i = exponent ? exponent - 25 : -24; i; i += i < 0 ? 1 : -1)
			expected *= i < 0 ? 0.5 : 2;
		assert_true(value == (float)(half & 0x8000 ? -expected : expected));
		assert_int_equal(__builtin_signbit(value) != 0, half >> 15);
	}
}

/* Conversion as in ggml and by the processor: sign and payload stay, and every NaN becomes
 * quiet. */
static void a_half_that_is_nan_becomes_a_quiet_nan(void **state)
{
	(void)state;
	for (uint32_t half = 0; half < 0x10000; half++) {
		const uint8_t bytes[2] = { (uint8_t)half, (uint8_t)(half >> 8) };
		const uint32_t expected =
			(half & 0x8000) << 16 | 0x7fc00000 | (half & 0x03ff) << 13;
		float value;

		if ((half & 0x7fff) <= 0x7c00)
			continue;
		dequant_blocks(GGML_F16, bytes, 1, &value);
		assert_memory_equal(&value, &expected, sizeof(value));
	}
}

/* Long runs take another path through the code. */
static void halves_in_a_row_decode_as_each_alone(void **state)
{
	static const uint32_t types[] = { GGML_F16, GGML_BF16 };
	static uint8_t bytes[2 * 0x10000];
	static float values[0x10000];

	(void)state;
	for (uint32_t half = 0; half < 0x10000; half++) {
		bytes[2 * half] = (uint8_t)half;
		bytes[2 * half + 1] = (uint8_t)(half >> 8);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		dequant_blocks(types[i], bytes, 0x10000, values);
		for (uint32_t half = 0; half < 0x10000; half++) {
			float value;

			dequant_blocks(types[i], bytes + 2 * half, 1, &value);
			assert_memory_equal(&value, &values[half], sizeof(value));
		}
	}
}

static void type_without_values_has_no_decoder(void **state)
{
	static const uint32_t none[] = { 4, 5, GGML_Q8_1, 31, 32, 33, 36, 37, 38, 43, UINT32_MAX };
	uint32_t supported = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++)
		assert_false(dequant_supported(none[i]));
	for (uint32_t type = 0; type < GGML_TYPES; type++)
		supported += dequant_supported(type);
	assert_int_equal(supported, 34);
}

UNIT_MAIN(NULL, NULL)
