/* SPDX-License-Identifier: MIT */
/* test_diff_adapter.c - fs/diff/: an adapter from two models and its table; tensors that can be in
 * it, the part of the difference that it keeps, threads and failing memory. */
#include "fs/base/base.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_adapter.h"
#include "fs/diff/diff_adapter_table.h"
#include "fs/diff/diff_factors.h"
#include "fs/diff/diff_low_rank.h"
#include "fs/diff/diff_side.h"
#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/tensor/sampling.h"
#include "fs/util/pool.h"
#include "gguf/pair.h"
#include "tests/unit/gguf_bytes.h"
#include "tests/unit/open_model.h"
#include "tests/unit/tensor_file.h"

#include <math.h>
#include <pthread.h>

#define KEPT_ALL ((size_t)1 << 20)

static const struct diff_params plain = { .samples = SAMPLES_ALL };

/* Tensors of the two models, in file order. */
enum { EMBED, NORM, QUERY, EXPERTS, ROUTER, SAME, OUTPUT, TENSORS };

static const struct form {
	const char *name;
	uint32_t dims;
	uint64_t ne[3];
} forms[TENSORS] = {
	[EMBED] = { "token_embd.weight", 2, { 16, 24, 1 } },
	[NORM] = { "blk.0.attn_norm.weight", 1, { 16, 1, 1 } },
	[QUERY] = { "blk.0.attn_q.weight", 2, { 16, 40, 1 } },
	[EXPERTS] = { "blk.0.ffn_up_exps.weight", 3, { 16, 20, 3 } },
	[ROUTER] = { "blk.0.ffn_gate_inp.weight", 2, { 16, 3, 1 } },
	[SAME] = { "blk.0.attn_k.weight", 2, { 16, 8, 1 } },
	[OUTPUT] = { "output.weight", 2, { 16, 24, 1 } },
};

static size_t elements(const struct form *form)
{
	return to_size(form->ne[0] * form->ne[1] * form->ne[2]);
}

/* Sum of two products of a row's number and a column's: of rank two. */
static float change(int tensor, size_t i)
{
	const size_t row = i / 16, column = i % 16;

	if (tensor == SAME)
		return 0;
	return (float)((int)(row * 7 % 11) - 5) * (float)((int)(column * 3 % 5) - 2) / 16 +
	       (float)((int)(row * 5 % 13) - 6) * (float)((int)(column % 7) - 3) / 64;
}

static float value(int tensor, size_t i)
{
	return (float)((int)mk_byte((uint32_t)tensor, i) - 128) / 64;
}

/* Save one of the two models, with its first n tensors. */
static void save_model(void **state, const char *name, uint32_t n, bool changed)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	size_t at;

	mkgguf_kv_string(m, "general.architecture", "llama");
	for (uint32_t t = 0; t < n; t++)
		mkgguf_tensor(m, forms[t].name, GGML_F32, forms[t].dims, forms[t].ne);
	file = mkgguf_finish(m);
	at = file.data_at;
	for (uint32_t t = 0; t < n; t++)
		for (size_t i = 0; i < elements(&forms[t]); i++, at += sizeof(float)) {
			const float x = value((int)t, i) + (changed ? change((int)t, i) : 0);

			memcpy(file.bytes + at, &x, sizeof(x));
		}
	save(state, name, &file);
	mk_file_free(&file);
}

static struct diff_side *side_of(void **state, const char *name)
{
	struct error err = { 0 };
	struct diff_side *side;
	struct base base;

	must(base_open(&base, in_temp(state, name).text, &err) == 0);
	side = diff_side_of_base(base.file, base.gguf, name);
	base_close(&base);
	must(side);
	return side;
}

static struct diff_factors *factors_with(void **state, const char *here, const char *there,
					 const struct diff_params *params, size_t room)
{
	struct diff *diff = diff_new(side_of(state, here), side_of(state, there), params);
	struct diff_factors *factors;

	must(diff);
	factors = diff_factors_new(diff, room);
	must(factors);
	diff_unref(diff);
	return factors;
}

/* Factors of the two models' first n tensors. */
static struct diff_factors *factors_of(void **state, uint32_t n)
{
	save_model(state, "here", n, false);
	save_model(state, "there", n, true);
	return factors_with(state, "here", "there", &plain, KEPT_ALL);
}

/* All bytes of a view; releases the view and the factors. */
static char *bytes_of(struct view *view, size_t *size)
{
	char *bytes;

	must(view);
	*size = to_size(view_size(view));
	bytes = read_view(view);
	view_unref(view);
	return bytes;
}

static char *adapter_of(struct diff_factors *factors, uint32_t rank, size_t *size)
{
	int rc = 0;

	return bytes_of(diff_adapter_view(factors, rank, &rc), size);
}

static char *table_of(struct diff_factors *factors, uint32_t rank)
{
	size_t size;
	char *text = bytes_of(diff_adapter_table_view(factors, rank), &size);

	assert_int_equal(strlen(text), size);
	return text;
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

static float float_at(const char *bytes, uint64_t offset, size_t i)
{
	float x;

	memcpy(&x, bytes + offset + i * sizeof(x), sizeof(x));
	return x;
}

/* Change of element i by the pair a, b. */
static double added(const char *bytes, const struct gguf_tensor *a, const struct gguf_tensor *b,
		    const struct form *form, size_t i)
{
	const bool flipped = a->ne[0] == b->ne[0];
	const size_t rank = to_size(b->ne[0]), row = i / 16, column = i % 16;
	const size_t slice = row / to_size(form->ne[1]);
	double sum = 0;

	for (size_t k = 0; k < rank; k++)
		sum += flipped ? (double)float_at(bytes, a->offset, row * rank + k) *
					 (double)float_at(bytes, b->offset, column * rank + k)
			       : (double)float_at(bytes, b->offset, row * rank + k) *
					 (double)float_at(bytes, a->offset,
							  (slice * rank + k) * 16 + column);
	return sum;
}

static void assert_changes(const char *bytes, const struct gguf_tensor *a,
			   const struct gguf_tensor *b, int tensor)
{
	const size_t length = strlen(forms[tensor].name);
	const struct organ target = { .name = forms[tensor].name,
				      .name_length = (uint32_t)length,
				      .dims = forms[tensor].dims,
				      .ne = { forms[tensor].ne[0], forms[tensor].ne[1],
					      forms[tensor].ne[2], 1 },
				      .type = GGML_F32 };
	const struct organ half_a = organ_of_tensor(a), half_b = organ_of_tensor(b);

	assert_memory_equal(a->name, forms[tensor].name, length);
	assert_string_equal(a->name + length, ".lora_a");
	assert_string_equal(b->name + length, ".lora_b");
	assert_int_equal(pair_fits(&target, &half_a, &half_b, NULL), 0);
	for (size_t i = 0; i < elements(&forms[tensor]); i++)
		assert_true(fabs(added(bytes, a, b, &forms[tensor], i) -
				 (double)change(tensor, i)) < 1e-5);
}

static void an_adapter_makes_one_model_of_the_other(void **state)
{
	static const int in_it[] = { EMBED, QUERY, EXPERTS, ROUTER, SAME, OUTPUT };
	struct diff_factors *factors = factors_of(state, TENSORS);
	size_t size;
	char *bytes = adapter_of(factors, 2, &size);
	struct gguf *gguf = read_bytes((const uint8_t *)bytes, size);

	assert_int_equal(gguf->n_tensors, 2 * ARRAY_LENGTH(in_it));
	for (size_t i = 0; i < ARRAY_LENGTH(in_it); i++)
		assert_changes(bytes, &gguf->tensors[2 * i], &gguf->tensors[2 * i + 1], in_it[i]);
	gguf_free(gguf);
	free(bytes);
	diff_factors_unref(factors);
}

/* Read the view whole, in parts, without cached factors, and once more. */
static void the_bytes_are_the_same_however_they_are_read(void **state)
{
	struct diff_factors *factors = factors_of(state, TENSORS);
	struct diff_factors *poor = factors_with(state, "here", "there", &plain, 0);
	size_t size, again_size;
	char *bytes = adapter_of(factors, 5, &size);
	char *again = adapter_of(poor, 5, &again_size);
	struct view *view;
	int rc;

	assert_int_equal(size, again_size);
	assert_memory_equal(bytes, again, size);
	view = diff_adapter_view(poor, 5, &rc);
	must(view);
	assert_any_range(view, bytes);
	view_unref(view);
	free(again);
	free(bytes);
	diff_factors_unref(poor);
	diff_factors_unref(factors);
}

static void table_has_the_part_kept_by_each_rank(void **state)
{
	struct diff_factors *factors = factors_of(state, TENSORS);
	char *text = table_of(factors, 6), *line;
	double norm, kept[4];

	assert_has(text, "class\tkind\tblock\ttensor\trank\tnorm\tkept-1\tkept-2\tkept-4\tkept-6"
			 "\tstatus\n");
	line = strstr(text, "blk.0.attn_q.weight\t6\t");
	must(line);
	must(sscanf(line, "%*s %*u %lf %lf %lf %lf %lf", &norm, &kept[0], &kept[1], &kept[2],
		    &kept[3]) == 5);
	assert_true(norm > 1 && kept[0] > 0.5 && kept[0] < 0.999);
	assert_true(kept[1] > 0.9999999 && kept[2] > 0.9999999 && kept[3] <= 1);
	line = strstr(text, "blk.0.ffn_gate_inp.weight\t3\t");
	must(line);
	assert_has(text, "blk.0.attn_norm.weight\t0\t");
	line = strstr(text, "total\t-\t-\t-\t6\t");
	must(line);
	must(sscanf(line, "total - - - 6 %lf %lf %lf", &norm, &kept[0], &kept[1]) == 3);
	/* No pair has the norm's difference. */
	assert_true(kept[1] > 0.9 && kept[1] < 0.99999);
	free(text);
	diff_factors_unref(factors);
}

/* Tensors of different shapes, and tensors of one model only. */
static void a_table_says_why_a_tensor_is_in_no_pair(void **state)
{
	static const uint64_t shapes[][4] = { { 8, 4, 1, 1 }, { 4, 8, 1, 1 }, { 8, 2, 2, 2 } };
	static const char longest[] = "blk.0.012345678901234567890123456789012345678901234567890";
	struct mkgguf *m[2] = { mkgguf_new(3), mkgguf_new(3) };
	struct diff_factors *factors;
	struct mk_file file;
	char *text;

	for (int i = 0; i < 2; i++) {
		mkgguf_kv_u32(m[i], "general.architecture", 7);
		mkgguf_tensor(m[i], "token_embd.weight", GGML_F32, 2, shapes[0]);
		mkgguf_tensor(m[i], "four", GGML_F32, 4, shapes[2]);
		mkgguf_tensor(m[i], longest, GGML_F32, 2, shapes[0]);
		mkgguf_tensor(m[i], "unknown", 4000000000u, 2, shapes[0]);
		mkgguf_tensor(m[i], "shape", GGML_F32, 2, shapes[i]);
		mkgguf_tensor(m[i], i ? "there" : "here", GGML_F32, 2, shapes[0]);
		file = mkgguf_finish(m[i]);
		/* Every byte of the floats. */
		for (size_t at = file.data_at; at < file.size; at++)
			file.bytes[at] = at % 4 == 3 ? 0x3f + (uint8_t)i : 0;
		save(state, i ? "other" : "one", &file);
		mk_file_free(&file);
	}
	factors = factors_with(state, "one", "other", &plain, KEPT_ALL);
	text = table_of(factors, 1);
	assert_has(strstr(text, "token_embd.weight\t0\t"), "\ttied\n");
	assert_has(strstr(text, "four\t0\t"), "\tleft-out\n");
	assert_has(strstr(text, longest), "left-out\n");
	assert_has(text, "\tundecoded\n");
	assert_has(text, "\tshape\n");
	assert_has(text, "\tonly-here\n");
	assert_has(text, "\tonly-there\n");
	free(text);
	diff_factors_unref(factors);
}

/* Give the file's tensor another shape in memory; its values are not read. */
static void set_shape(const struct diff_tensor *tensor, uint64_t columns, uint64_t rows)
{
	struct organ *organ = &((struct diff_tensor *)(uintptr_t)tensor)->at.organ;

	organ->ne[0] = columns;
	organ->ne[1] = rows;
}

static void matrix_beyond_memory_is_left_out(void **state)
{
	static const struct {
		uint64_t columns, rows;
		enum diff_low_rank expected;
	} cases[] = {
		{ 8192, 262144, DIFF_LOW_RANK_OK },
		{ 65536, 16384, DIFF_LOW_RANK_OK },
		{ 4, (1 << 20) - 16, DIFF_LOW_RANK_OK },
		{ 4, (1 << 20) - 15, DIFF_LOW_RANK_LEFT_OUT },
		{ (1 << 18) + 1, 2, DIFF_LOW_RANK_LEFT_OUT },
		{ 2, (uint64_t)1 << 40, DIFF_LOW_RANK_LEFT_OUT },
		{ (uint64_t)1 << 40, 2, DIFF_LOW_RANK_LEFT_OUT },
	};
	struct diff_factors *factors = factors_of(state, TENSORS);
	const struct diff *diff = diff_factors_diff(factors);

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		set_shape(diff->pairs[QUERY].here, cases[i].columns, cases[i].rows);
		set_shape(diff->pairs[QUERY].there, cases[i].columns, cases[i].rows);
		assert_int_equal(diff_low_rank(diff, QUERY), cases[i].expected);
	}
	diff_factors_unref(factors);
}

static void equal_tensors_give_a_pair_of_zeros(void **state)
{
	struct diff_factors *factors;
	size_t size;
	struct gguf *gguf;
	char *bytes;

	save_model(state, "here", TENSORS, false);
	factors = factors_with(state, "here", "here", &plain, KEPT_ALL);
	bytes = adapter_of(factors, 4, &size);
	gguf = read_bytes((const uint8_t *)bytes, size);
	assert_int_equal(gguf->n_tensors, 2);
	assert_string_equal(gguf->tensors[0].name, "blk.0.ffn_gate_inp.weight.lora_a");
	for (uint64_t at = gguf->tensors[0].offset; at < size; at++)
		assert_int_equal(bytes[at], 0);
	gguf_free(gguf);
	free(bytes);
	diff_factors_unref(factors);
}

static void without_a_matrix_there_is_no_adapter(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct diff_factors *factors;
	struct mk_file file;
	int rc = 0;

	mkgguf_tensor(m, "norm", GGML_F32, 1, small_row);
	file = mkgguf_finish(m);
	save(state, "norms", &file);
	mk_file_free(&file);
	factors = factors_with(state, "norms", "norms", &plain, KEPT_ALL);
	assert_null(diff_adapter_view(factors, 4, &rc));
	assert_int_equal(rc, -ENODATA);
	free(table_of(factors, 4));
	diff_factors_unref(factors);
}

/* Factors of the two models, the second of which has a NaN in that tensor at that byte. */
static struct diff_factors *factors_with_nan(void **state, unsigned tensor, uint64_t at)
{
	const float bad = NAN;
	struct gguf *gguf;
	size_t size;
	char *bytes;

	save_model(state, "here", TENSORS, false);
	save_model(state, "there", TENSORS, true);
	bytes = read_whole(in_temp(state, "there").text, &size);
	gguf = read_bytes((const uint8_t *)bytes, size);
	memcpy(bytes + gguf->tensors[tensor].offset + at, &bad, sizeof(bad));
	write_file(in_temp(state, "there").text, bytes, size);
	gguf_free(gguf);
	free(bytes);
	return factors_with(state, "here", "there", &plain, KEPT_ALL);
}

static void values_that_are_not_finite_make_a_pair_of_zeros(void **state)
{
	struct diff_factors *factors = factors_with_nan(state, QUERY, 40);
	char *bytes, *text = table_of(factors, 2);
	struct gguf *gguf;
	size_t size;

	assert_has(strstr(text, "blk.0.attn_q.weight"), "\tnonfinite\n");
	free(text);
	bytes = adapter_of(factors, 2, &size);
	gguf = read_bytes((const uint8_t *)bytes, size);
	for (size_t i = 0; i < 16 * 2; i++)
		assert_true(float_at(bytes, gguf->tensors[2].offset, i) == 0);
	assert_changes(bytes, &gguf->tensors[0], &gguf->tensors[1], EMBED);
	gguf_free(gguf);
	free(bytes);
	diff_factors_unref(factors);
}

static void table_marks_nonfinite_tensor_outside_adapter(void **state)
{
	struct diff_factors *factors = factors_with_nan(state, NORM, 8);
	char *text = table_of(factors, 2);

	assert_has(strstr(text, "blk.0.attn_norm.weight"), "\tnonfinite\n");
	free(text);
	diff_factors_unref(factors);
}

static void a_stop_ends_the_wait(void **state)
{
	struct diff_factors *factors = factors_of(state, TENSORS);
	const atomic_bool stop = true;
	struct view *views[2];
	char bytes[64];
	int rc;

	views[0] = diff_adapter_view(factors, 3, &rc);
	views[1] = diff_adapter_table_view(factors, 3);
	for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
		const uint64_t at = view_size(views[i]) - sizeof(bytes);

		must(views[i]);
		assert_int_equal(view_read_with(views[i], 0, bytes, sizeof(bytes), at, &stop),
				 -EINTR);
		assert_int_equal(view_read(views[i], bytes, sizeof(bytes), at), sizeof(bytes));
		view_unref(views[i]);
	}
	diff_factors_unref(factors);
}

/* backing_revoke() closes the model's file for good. */
static void missing_file_is_in_no_pair(void **state)
{
	struct diff_factors *factors = factors_of(state, TENSORS);
	struct backing *file = diff_factors_diff(factors)->pairs[0].there->at.file;
	struct fd_cache *set = fd_cache_new(2);
	char *text;
	int rc;

	must(set);
	backing_join_cache(file, set, FILE_USE_DONOR);
	fd_cache_unref(set);
	backing_revoke(file);
	assert_null(diff_adapter_view(factors, 2, &rc));
	assert_int_equal(rc, -ENODATA);
	text = table_of(factors, 2);
	assert_has(strstr(text, "blk.0.attn_q.weight\t0\t"), "\tmissing\n");
	free(text);
	diff_factors_unref(factors);
}

static void shrunken_file_is_an_error_of_the_read(void **state)
{
	struct diff_factors *factors = factors_of(state, TENSORS);
	struct view *view;
	char bytes[4096];
	int rc;

	view = diff_adapter_view(factors, 3, &rc);
	must(view);
	must(truncate(in_temp(state, "there").text, 300) == 0);
	/* diff_adapter_view() reads the keys first. */
	assert_null(diff_adapter_view(factors, 3, &rc));
	assert_int_equal(rc, -EIO);
	assert_int_equal(view_read(view, bytes, 64, 0), 64);
	assert_int_equal(view_read(view, bytes, sizeof(bytes), view_size(view) / 2), -EIO);
	view_unref(view);
	view = diff_adapter_table_view(factors, 3);
	must(view);
	assert_int_equal(view_read(view, bytes, sizeof(bytes), 0), -EIO);
	view_unref(view);
	diff_factors_unref(factors);
}

struct reading {
	struct diff_factors *factors;
	const char *bytes; /* expected bytes */
	size_t size;
};

static void *read_both(void *argument)
{
	const struct reading *reading = argument;
	size_t size;
	char *bytes = adapter_of(reading->factors, 4, &size);

	must(size == reading->size && memcmp(bytes, reading->bytes, size) == 0);
	free(bytes);
	free(table_of(reading->factors, 4));
	return NULL;
}

static void several_threads_and_a_pool_find_the_same(void **state)
{
	struct pool *pool = pool_new(4);
	const struct diff_params params = { .samples = SAMPLES_ALL, .pool = pool };
	struct diff_factors *factors = factors_of(state, TENSORS);
	struct reading reading = { 0 };
	char *bytes = adapter_of(factors, 4, &reading.size);
	pthread_t threads[4];

	must(pool);
	reading.bytes = bytes;
	for (int round = 0; round < 10; round++) {
		reading.factors =
			factors_with(state, "here", "there", &params, round % 2 ? KEPT_ALL : 1000);
		for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
			must(pthread_create(&threads[i], NULL, read_both, &reading) == 0);
		for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
			pthread_join(threads[i], NULL);
		diff_factors_unref(reading.factors);
	}
	free(bytes);
	diff_factors_unref(factors);
	pool_free(pool);
}

/* The cache keeps the newest result, and older ones while they fit. */
static void oldest_factors_are_evicted(void **state)
{
	static const struct diff_matrix matrices[] = { { EMBED, 0, 2 },
						       { QUERY, 0, 2 },
						       { OUTPUT, 0, 2 } };
	static const struct {
		size_t room;
		bool has[3];
	} cases[] = { { 0, { false, false, true } },
		      /* The overhead of an entry counts too. */
		      { (16 + 40 + 16 + 24) * 2 * sizeof(float), { false, false, true } },
		      { (16 + 40 + 16 + 24) * 2 * sizeof(float) + 512, { false, true, true } },
		      { KEPT_ALL, { true, true, true } } };

	save_model(state, "here", TENSORS, false);
	save_model(state, "there", TENSORS, true);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct diff_factors *factors =
			factors_with(state, "here", "there", &plain, cases[i].room);
		int rc;

		for (size_t k = 0; k < 3; k++) {
			const struct diff_factor *factor =
				diff_factors_get(factors, &matrices[k], NULL, &rc);

			must(factor);
			diff_factors_put(factors, factor);
		}
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(diff_factors_has(factors, &matrices[k]), cases[i].has[k]);
		diff_factors_unref(factors);
	}
}

/* Read all views. Returns 0 or -errno. */
static int try_views(struct diff_factors *factors)
{
	struct view *view, *table = diff_adapter_table_view(factors, 3);
	char bytes[512];
	int rc = -ENOMEM;
	ssize_t n = 1;

	view = diff_adapter_view(factors, 3, &rc);
	must(view || rc == -ENOMEM);
	for (uint64_t at = 0; view && n > 0; at += sizeof(bytes))
		n = view_read(view, bytes, sizeof(bytes), at);
	if (view && table && n == 0)
		n = view_read(table, bytes, sizeof(bytes), view_size(table) - 50);
	view_unref(view);
	view_unref(table);
	must(n >= 0 || n == -ENOMEM);
	return view && table && n > 0 ? 0 : -ENOMEM;
}

static void out_of_memory_is_reported_and_loses_no_result(void **state)
{
	struct diff_factors *factors;
	struct diff *diff;
	bool well = false;

	needs_failing_allocations();
	factors = factors_of(state, TENSORS);
	diff = diff_ref(diff_factors_diff(factors));
	diff_factors_unref(factors);
	for (uint64_t k = 1; !well; k++) {
		int rc = -ENOMEM;

		allocation_fails(k);
		factors = diff_factors_new(diff, KEPT_ALL);
		if (factors)
			rc = try_views(factors);
		well = !allocation_failed();
		/* A failed allocation of a smaller copy of the result is harmless. */
		assert_true(rc == 0 || (rc == -ENOMEM && !well));
		diff_factors_unref(factors);
	}
	diff_unref(diff);
}

UNIT_MAIN(temp_setup, temp_teardown)
