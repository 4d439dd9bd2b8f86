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

#include <limits.h>
#include <math.h>

/* A small number, the same in every run. */
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

/* Save n values in that type. Returns the tensor, and the decoded values for the caller to free. */
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
		/* Random bytes are valid blocks if only the scales are small. */
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

/* All bytes of a backing, in one read; caller frees. */
static uint8_t *read_all(struct backing *backing)
{
	const size_t n = (size_t)backing_size(backing);
	uint8_t *bytes = malloc(n);

	must(bytes);
	assert_int_equal(backing_read(backing, bytes, n, 0), 0);
	return bytes;
}

/* The merge in the plainest way, encoded; caller frees. */
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
	/* The next reads take pieces, from the last to the first. */
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

static void rows_have_the_product_of_the_pair(void **state)
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

static void unreadable_factor_fails_the_merge(void **state)
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

#define COLUMNS	 5u
#define CHANNELS 6u

/* Output of "tests/tools/ablate.py golden": a matrix without 0.75 of one direction, and of the
 * plane of two; then both with the matrix's column norms restored. */
static const float golden[4][CHANNELS][COLUMNS] = {
	{ { -1.0625f, -0.45982143f, 0.29017857f, 0.45089287f, -0.9598214f },
	  { 0.6125f, 1.2741071f, -0.72589284f, -0.3294643f, 0.77410716f },
	  { -0.4625f, 0.25803572f, 1.0080357f, -1.1098214f, -0.24196428f },
	  { 1.2125f, -0.7580357f, -0.008035715f, 0.85982144f, -1.2580357f },
	  { 0.1375f, 0.97589284f, -1.0241071f, 0.07946429f, 0.47589287f },
	  { -0.9375f, -0.04017857f, 0.7098214f, -0.70089287f, -0.5401786f } },
	{ { -0.9972826f, -0.010093167f, 0.033385094f, 0.26475155f, -0.5372671f },
	  { 0.48641303f, 0.4046325f, -0.22942546f, 0.030408902f, -0.042831264f },
	  { -0.47554347f, 0.16809006f, 1.0593944f, -1.0725932f, -0.32647514f },
	  { 1.3125f, -0.06845238f, -0.4017857f, 0.5744048f, -0.61011904f },
	  { 0.046195652f, 0.3462733f, -0.66459626f, 0.3400621f, -0.11568323f },
	  { -0.9157609f, 0.10973085f, 0.6242236f, -0.76293993f, -0.39932713f } },
	{ { -1.0836214f, -0.46032614f, 0.2905221f, 0.55334514f, -0.9608034f },
	  { 0.6246758f, 1.2755055f, -0.72675216f, -0.4043255f, 0.7748991f },
	  { -0.471694f, 0.25831893f, 1.0092291f, -1.361996f, -0.24221183f },
	  { 1.2366031f, -0.75886774f, -0.008045227f, 1.0551909f, -1.2593228f },
	  { 0.14023335f, 0.976964f, -1.0253195f, 0.09752023f, 0.47637972f },
	  { -0.95613647f, -0.04022267f, 0.7106617f, -0.8601504f, -0.5407312f } },
	{ { -1.0253233f, -0.03263915f, 0.040472843f, 0.36125028f, -1.0629001f },
	  { 0.5000895f, 1.3084952f, -0.27813315f, 0.041492578f, -0.08473504f },
	  { -0.48891434f, 0.54356736f, 1.2843069f, -1.4635404f, -0.64588076f },
	  { 1.3494036f, -0.22136039f, -0.48708597f, 0.78376836f, -1.2070264f },
	  { 0.047494534f, 1.1197739f, -0.80569196f, 0.46401063f, -0.22886142f },
	  { -0.9415093f, 0.35484612f, 0.756748f, -1.0410223f, -0.7900071f } },
};

static struct lora_merge_data floats_of(void **state, const char *name, const float *values,
					size_t n)
{
	return (struct lora_merge_data){
		.file = save_backing(state, name, values, n * sizeof(*values)),
		.type = GGML_F32,
	};
}

/* Matrix of the golden results; turned: rows have all channels. */
static struct lora_merge_data golden_matrix(void **state, bool turned)
{
	float w[CHANNELS * COLUMNS];

	for (size_t i = 0; i < CHANNELS; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			w[turned ? j * CHANNELS + i : i * COLUMNS + j] =
				(float)((int)((7 * i + 3 * j) % 11) - 5) / 4;
	return floats_of(state, "w", w, ARRAY_LENGTH(w));
}

/* Directions of the golden results, times a factor without effect. */
static struct lora_merge_data golden_directions(void **state, size_t rows, float factor)
{
	float d[2 * CHANNELS];

	for (size_t i = 0; i < CHANNELS; i++) {
		d[i] = ((float)i - 2.5f) * factor;
		d[CHANNELS + i] = (float)((int)(5 * i % 7) - 3) * factor;
	}
	return floats_of(state, "d", d, rows * CHANNELS);
}

static void check_golden(void **state, size_t rows, bool turned, float factor, bool keeps_norm)
{
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .w = golden_matrix(state, turned), .type = GGML_F32, .n = 1 };
	const struct lora_merge *kept;
	struct backing *merged;
	float *result;

	merge.ne[0] = turned ? CHANNELS : COLUMNS;
	merge.ne[1] = turned ? COLUMNS : CHANNELS;
	merge.ne[2] = merge.ne[3] = 1;
	merge.pairs[0] = (struct lora_merge_pair){ .b = golden_directions(state, rows, factor),
						   .rank = rows,
						   .flipped = turned,
						   .factor = -0.75f,
						   .keeps_norm = keeps_norm };
	merged = lora_merge_new(&merge, matrices, &kept);
	assert_non_null(merged);
	assert_true(lora_merge_same(kept, &merge));
	result = (float *)read_all(merged);
	for (size_t i = 0; i < CHANNELS; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			assert_true(fabsf(result[turned ? j * CHANNELS + i : i * COLUMNS + j] -
					  golden[rows - 1 + 2 * keeps_norm][i][j]) < 1e-6f);
	free(result);
	backing_unref(merged);
	backing_unref(merge.w.file);
	backing_unref(merge.pairs[0].b.file);
	matrix_cache_unref(matrices);
}

static void directions_are_taken_out_as_numpy_does(void **state)
{
	for (size_t rows = 1; rows <= 2; rows++) {
		check_golden(state, rows, false, 1.0f, false);
		check_golden(state, rows, true, 1.0f, false);
		check_golden(state, rows, false, 1e-30f, false);
		check_golden(state, rows, true, 1e30f, false);
	}
}

static void vectors_keep_their_norms_as_numpy_does(void **state)
{
	for (size_t rows = 1; rows <= 2; rows++) {
		check_golden(state, rows, false, 1.0f, true);
		check_golden(state, rows, true, 1.0f, true);
	}
}

#define LARGE ((size_t)1 << 12) /* length of a row: one round does not take a whole matrix */

/* Earlier pairs change the matrix first, and nothing of the direction remains. */
static void direction_is_removed_after_earlier_pairs(void **state)
{
	const uint64_t experts = 3, channels = 40;
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .ne = { LARGE, channels, experts, 1 }, .type = GGML_F32 };
	const struct lora_merge *kept;
	struct backing *merged;
	float *w, *a, *b, *d, *rows, part[3];
	const size_t at = LARGE * (size_t)channels * 2 + 7;

	merge.w = tensor_of(state, "w", GGML_F32, 1, LARGE * (size_t)(channels * experts), &w);
	merge.pairs[0] = (struct lora_merge_pair){ .rank = 1, .factor = 2 };
	merge.pairs[0].a = tensor_of(state, "a", GGML_F32, 2, LARGE * (size_t)experts, &a);
	merge.pairs[0].b = tensor_of(state, "b", GGML_F32, 3, (size_t)(channels * experts), &b);
	merge.pairs[1] = (struct lora_merge_pair){ .rank = 1, .factor = -1 };
	merge.pairs[1].b = tensor_of(state, "d", GGML_F32, 4, (size_t)channels, &d);
	merge.n = 2;
	merged = lora_merge_new(&merge, matrices, &kept);
	assert_int_equal(backing_read(merged, part, sizeof(part), at * sizeof(float)), 0);
	rows = (float *)read_all(merged);
	assert_memory_equal(part, rows + at, sizeof(part));
	for (size_t k = 0; k < LARGE * experts; k++) {
		const float *expert = rows + k / LARGE * LARGE * channels + k % LARGE;
		double left = 0.0;

		for (size_t i = 0; i < channels; i++)
			left += (double)(d[i] * expert[i * LARGE]);
		assert_true(fabs(left) < 1e-4);
	}
	backing_unref(merged);
	backing_unref(merge.w.file);
	backing_unref(merge.pairs[0].a.file);
	backing_unref(merge.pairs[0].b.file);
	backing_unref(merge.pairs[1].b.file);
	matrix_cache_unref(matrices);
	free(rows);
	free(w);
	free(a);
	free(b);
	free(d);
}

static void a_pass_over_a_matrix_ends_when_it_is_not_wanted(void **state)
{
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .w = golden_matrix(state, false),
				    .ne = { COLUMNS, CHANNELS, 1, 1 },
				    .type = GGML_F32,
				    .n = 1 };
	const struct lora_merge *kept;
	struct backing *merged;
	atomic_bool stop = true;
	float row[COLUMNS];

	merge.pairs[0] = (struct lora_merge_pair){ .b = golden_directions(state, 1, 1.0f),
						   .rank = 1,
						   .factor = -0.75f };
	merged = lora_merge_new(&merge, matrices, &kept);
	assert_int_equal(backing_read_cancellable(merged, 0, row, sizeof(row), 0, &stop), -EINTR);
	stop = false;
	assert_int_equal(backing_read_cancellable(merged, 0, row, sizeof(row), 0, &stop), 0);
	assert_true(fabsf(row[0] - golden[0][0][0]) < 1e-6f);
	backing_unref(merged);
	backing_unref(merge.w.file);
	backing_unref(merge.pairs[0].b.file);
	matrix_cache_unref(matrices);
}

/* Read zeros; context is the number of reads before a failure. */
static int read_zeros(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		      const atomic_bool *stop)
{
	int *left = context;

	(void)flags;
	(void)offset;
	(void)stop;
	memset(bytes, 0, n);
	return (*left)-- > 0 ? 0 : -EIO;
}

static void release_nothing(void *context)
{
	(void)context;
}

static struct lora_merge_data zeros(int *left, size_t values)
{
	const struct stat stat = { .st_size = (off_t)(values * sizeof(float)) };
	const struct backing_ops ops = { .read = read_zeros,
					 .release = release_nothing,
					 .context = left };

	return (struct lora_merge_data){ .file = backing_from_ops(&ops, "zeros", &stat),
					 .type = GGML_F32 };
}

#define LONG   ((size_t)1 << 14) /* length of a row: a round works on four and reads two */
#define HEIGHT ((size_t)8)

/* Check that a merge of that many pairs and then directions, whose matrices exceed the cache,
 * makes one pass over the matrix for each direction. */
static void check_passes(unsigned pairs, unsigned directions)
{
	struct matrix_cache *matrices = matrix_cache_new();
	struct lora_merge merge = { .ne = { LONG, HEIGHT, 1, 1 }, .type = GGML_F32 };
	const struct lora_merge *kept;
	const size_t rank = 320;
	struct backing *merged;
	int often = INT_MAX, left = (int)(directions + 1) * 4;

	merge.w = zeros(&left, LONG * HEIGHT);
	for (; merge.n < pairs + directions; merge.n++) {
		struct lora_merge_pair *pair = &merge.pairs[merge.n];

		pair->rank = merge.n < pairs ? rank : 64;
		pair->factor = -1;
		if (merge.n < pairs)
			pair->a = zeros(&often, rank * LONG);
		pair->b = zeros(&often, pair->rank * HEIGHT);
	}
	merged = lora_merge_new(&merge, matrices, &kept);
	free(read_all(merged));
	assert_int_equal(left, 0);
	backing_unref(merged);
	backing_unref(merge.w.file);
	for (unsigned i = 0; i < merge.n; i++) {
		if (i < pairs)
			backing_unref(merge.pairs[i].a.file);
		backing_unref(merge.pairs[i].b.file);
	}
	matrix_cache_unref(matrices);
}

static void a_read_makes_one_pass_for_each_direction(void **state)
{
	(void)state;
	check_passes(0, 1);
	check_passes(2, 1);
	check_passes(0, 9);
}

UNIT_MAIN(temp_setup, temp_teardown)
