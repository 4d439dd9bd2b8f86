/* SPDX-License-Identifier: MIT */
/* test_lora_merge.c - fs/tensor/lora_merge.c: low-rank pairs merged into a tensor, row by row. */
#include "fs/storage/backing.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/lora_merge.h"
#include "fs/tensor/matrix_cache.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"
#include "measure/lora.h"
#include "tests/unit/zstd_file.h"

/* Numbers that are the same every time, and small. */
static float number_at(uint32_t seed, size_t i)
{
	return (float)((int)mk_byte(seed, i) - 128) / 64.0f;
}

static struct backing *save_backing(void **state, const char *name, const void *bytes, size_t n)
{
	struct backing *file;

	write_file(in_temp(state, name).text, bytes, n);
	file = backing_open(in_temp(state, name).text, NULL);
	assert_non_null(file);
	return file;
}

/* n values in a file of that type, also as they are read from it, to free(). */
static struct lora_merge_data tensor_of(void **state, const char *name, uint32_t type,
					uint32_t seed, size_t n, float **values)
{
	float *wanted = calloc(n, sizeof(*wanted));
	uint8_t *bytes = calloc(n, sizeof(*wanted));
	const struct type_info *info = type_find(type);
	const size_t size = n / info->block_elements * info->block_bytes;
	struct lora_merge_data data = { .type = type };

	must(wanted && bytes);
	for (size_t i = 0; i < n; i++)
		wanted[i] = number_at(seed, i);
	if (type == GGML_Q4_K) {
		/* Any bytes are values, if only the scales are small. */
		for (size_t i = 0; i < size; i++)
			bytes[i] = mk_byte(seed, i);
		for (size_t i = 0; i < size; i += info->block_bytes)
			bytes[i + 1] = bytes[i + 3] = 0x20;
	} else {
		quant_row(type, wanted, n, NULL, bytes);
	}
	dequant_blocks(type, bytes, n / info->block_elements, wanted);
	data.file = save_backing(state, name, bytes, size);
	free(bytes);
	*values = wanted;
	return data;
}

/* Everything of a backing, in one read, to free(). */
static uint8_t *read_all(struct backing *backing)
{
	const size_t n = (size_t)backing_size(backing);
	uint8_t *bytes = malloc(n);

	must(bytes);
	assert_int_equal(backing_read(backing, bytes, n, 0), 0);
	return bytes;
}

/* The merge in the plainest way, encoded, to free(). */
static uint8_t *expected(const struct lora_merge *merge, float *w, const float *a, const float *b)
{
	const struct lora_merge_pair *pair = &merge->pairs[0];
	const size_t width = (size_t)merge->ne[0], rank = (size_t)pair->rank;
	const size_t rows = (size_t)merge->ne[1], all = rows * (size_t)merge->ne[2];
	uint8_t *bytes = malloc(width * all * sizeof(float));

	must(bytes);
	for (size_t row = 0; row < all; row++) {
		for (size_t i = 0; i < width; i++) {
			float sum = 0.0f;

			for (size_t r = 0; r < rank; r++) {
				const float x =
					pair->flipped ? a[row * rank + r] : b[row * rank + r];
				const float y = pair->flipped
							? b[i * rank + r]
							: a[(row / rows * rank + r) * width + i];
				const float product = x * y;

				sum += product;
			}
			w[row * width + i] += pair->factor * sum;
		}
	}
	quant_row(merge->type, w, width * all, NULL, bytes);
	return bytes;
}

static void check(void **state, uint32_t type, uint64_t ne0, uint64_t ne1, uint64_t ne2,
		  bool flipped)
{
	const uint64_t rank = 5;
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .ne = { ne0, ne1, ne2, 1 },
				    .type = encode_type(type, ne0, ENCODE_KEEP) };
	struct lora_merge_pair *pair = &merge.pairs[merge.n++];
	const struct lora_merge *kept;
	struct backing *merged;
	float *w, *a, *b;
	uint8_t *whole, *plain, byte[3];

	merge.w = tensor_of(state, "w", type, 1, (size_t)(ne0 * ne1 * ne2), &w);
	pair->flipped = flipped;
	pair->rank = rank;
	pair->factor = lora_factor(0.5f, 16.0f, rank);
	pair->a = tensor_of(state, "a", GGML_F32, 2,
			    (size_t)(flipped ? rank * ne1 : ne0 * rank * ne2), &a);
	pair->b = tensor_of(state, "b", GGML_F16, 3,
			    (size_t)(flipped ? rank * ne0 : rank * ne1 * ne2), &b);
	merged = lora_merge_new(&merge, matrices, &kept);
	assert_non_null(merged);
	assert_true(backing_is_computed(merged));
	assert_true(lora_merge_same(kept, &merge));
	backing_unref(merge.w.file);
	backing_unref(pair->a.file);
	backing_unref(pair->b.file);
	matrix_cache_unref(matrices);
	whole = read_all(merged);
	plain = expected(&merge, w, a, b);
	assert_memory_equal(whole, plain, (size_t)backing_size(merged));
	/* And in pieces, backwards. */
	for (uint64_t at = backing_size(merged) - sizeof(byte); at > 41; at -= 41) {
		assert_int_equal(backing_read_with(merged, BACKING_SPANS | BACKING_UNCHECKED, byte,
						   sizeof(byte), at),
				 0);
		assert_memory_equal(byte, plain + at, sizeof(byte));
	}
	backing_unref(merged);
	free(whole);
	free(plain);
	free(w);
	free(a);
	free(b);
}

static void rows_are_what_the_pair_makes_of_them(void **state)
{
	check(state, GGML_F32, 40, 33, 1, false);
	check(state, GGML_F16, 40, 33, 1, false);
	check(state, GGML_BF16, 1, 700, 1, false);
	check(state, GGML_Q8_0, 64, 33, 1, false);
	check(state, GGML_Q4_K, 512, 300, 1, false);
}

static void each_expert_has_its_own_pair(void **state)
{
	check(state, GGML_F32, 8, 3, 5, false);
	check(state, GGML_F16, 32, 70, 4, false);
}

static void the_embeddings_halves_stand_the_other_way_round(void **state)
{
	check(state, GGML_F32, 24, 90, 1, true);
	check(state, GGML_Q8_0, 32, 90, 1, true);
}

static void what_cannot_be_read_cannot_be_merged(void **state)
{
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .ne = { 8, 4, 1, 1 }, .type = GGML_F32, .n = 1 };
	struct lora_merge other;
	const struct lora_merge *kept;
	struct backing *merged;
	float *w, *a, *b, row[8];

	merge.w = tensor_of(state, "w", GGML_F32, 1, 32, &w);
	merge.pairs[0] = (struct lora_merge_pair){ .rank = 2, .factor = 1 };
	merge.pairs[0].a = tensor_of(state, "a", GGML_F32, 2, 16, &a);
	merge.pairs[0].b = tensor_of(state, "b", GGML_F32, 3, 8, &b);
	other = merge;
	other.pairs[0].factor = 2;
	assert_false(lora_merge_same(&merge, &other));
	merged = lora_merge_new(&merge, matrices, &kept);
	must(truncate(in_temp(state, "b").text, 3) == 0);
	assert_int_equal(backing_read(merged, row, sizeof(row), 0), -EIO);
	backing_unref(merged);
	backing_unref(merge.w.file);
	backing_unref(merge.pairs[0].a.file);
	backing_unref(merge.pairs[0].b.file);
	matrix_cache_unref(matrices);
	free(w);
	free(a);
	free(b);
}

UNIT_MAIN(temp_setup, temp_teardown)
