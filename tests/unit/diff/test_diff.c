/* SPDX-License-Identifier: MIT */
/* test_diff.c - fs/diff/: pairs of tensors, table and summary of one length,
 * metadata that differ, threads and failing memory. */
#include "fs/base/base.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_keys.h"
#include "fs/diff/diff_picture.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_summary.h"
#include "fs/diff/diff_table.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/tensor/sampling.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/pool.h"
#include "gguf/reader.h"
#include "measure/sample.h"
#include "tests/unit/open_model.h"
#include "tests/unit/zinputs.h"

#include <pthread.h>

static const struct diff_params plain = { .samples = SAMPLES_ALL };

/* Open a file of the test as one side of a diff. */
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

static struct diff_side *side_now(struct model *model)
{
	struct snapshot snapshot;
	struct diff_side *side;

	must(model_snapshot(model, &snapshot) == 0);
	side = diff_side_of_model(model, &snapshot, "now");
	snapshot_release(&snapshot);
	must(side);
	return side;
}

static struct diff *diff_of(struct diff_side *here, struct diff_side *there)
{
	struct diff *diff = diff_new(here, there, &plain);

	must(diff);
	return diff;
}

/* Text of a view, whose announced length it has. Releases the view. */
static char *text_of(struct view *view)
{
	char *text;

	must(view);
	text = read_view(view);
	assert_int_equal(strlen(text), view_size(view));
	view_unref(view);
	return text;
}

static char *summary_of(struct diff *diff)
{
	int rc;

	return text_of(diff_summary_view(diff, &rc));
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

/* Save two models of three tensors each, two of which have the same names. */
static void save_two(void **state, const char *here, const char *there)
{
	static const uint64_t other[] = { 4, 8 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "a", 1);
	mkgguf_kv_u32(m, "b\n", 1);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "a\tb\n%", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, here, &file);
	mk_file_free(&file);
	m = mkgguf_new(1);
	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_string(m, "a", "1");
	mkgguf_kv_u32(m, "c", 7);
	mkgguf_tensor(m, "blk.1.ffn_up.weight", 4000000000u, 2, small_ne);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, other);
	file = mkgguf_finish(m);
	save(state, there, &file);
	mk_file_free(&file);
}

static void tensors_are_paired_by_name(void **state)
{
	struct diff *diff;
	char *text;

	save_two(state, "here", "there");
	diff = diff_of(side_of(state, "here"), side_of(state, "there"));
	assert_int_equal(diff->n, 4);
	assert_true(diff_pair_is_comparable(&diff->pairs[0]) && !diff->pairs[0].same);
	assert_false(diff_pair_is_comparable(&diff->pairs[1]));
	assert_null(diff->pairs[2].there);
	assert_null(diff->pairs[3].here);
	text = text_of(diff_table_view(diff));
	assert_memory_equal(text, DIFF_TABLE_HEADER, strlen(DIFF_TABLE_HEADER));
	assert_has(text, "embed\tembedding\t-\ttoken_embd.weight\tF32\tF32\tno\t");
	assert_has(text, "organs\tffn-dense\t0\tblk.0.ffn_up.weight\tF32\tF32\tno\t");
	assert_has(text, "other\tother\t-\ta%09b%0A%25\tF32\t-\t-\t");
	assert_has(text, "\t1\tblk.1.ffn_up.weight\t-\ttype-4000000000\t-\t");
	assert_has(text, "\tshape\n");
	assert_has(text, "\tonly-here\n");
	assert_has(text, "\tonly-there\n");
	free(text);
	diff_unref(diff);
}

static void summary_names_unpaired_tensors_and_different_keys(void **state)
{
	struct diff *diff;
	char *text;

	save_two(state, "here", "there");
	diff = diff_of(side_of(state, "here"), side_of(state, "there"));
	text = summary_of(diff);
	assert_has(text, "\nhere  here, 3 tensors\nthere there, 3 tensors\n");
	assert_has(text, "\nshape blk.0.ffn_up.weight: 8x4 here, 4x8 there\n");
	assert_has(text, "\nonly-here a%09b%0A%\n");
	assert_has(text, "\nonly-there blk.1.ffn_up.weight\n");
	assert_has(text, "\ntokenizer none in either\n");
	assert_has(text, "\n# metadata that differ: 3\n"
			 "< a (uint32) = 1\n> a (string) = 1\n< b%0A = 1\n> c = 7\n");
	free(text);
	diff_unref(diff);
}

static void the_picture_has_a_cell_for_each_pair(void **state)
{
	struct diff *diff;
	char *text;

	save_two(state, "h&re", "there");
	diff = diff_of(side_of(state, "h&re"), side_of(state, "there"));
	text = text_of(diff_picture_view(diff));
	assert_has(text, "<title>h%26re beside there</title>");
	assert_has(text, "<title>blk.0.ffn_up.weight: another shape</title>");
	assert_has(text, "<title>blk.1.ffn_up.weight: only there</title>");
	assert_has(text, "<title>a%09b%0A%25: only here</title>");
	assert_has(text, "<title>token_embd.weight:  ");
	assert_has(text, "</svg>\n");
	free(text);
	diff_unref(diff);
}

/* The pair is another file with the same bytes, or the mount's view of the same file. */
static void only_a_graft_is_a_difference(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct diff *diff;
	char *text;

	save_small(state, "copy.gguf");
	must(fill_up(o.model, 7) == 0);
	for (int i = 0; i < 2; i++) {
		diff = diff_of(side_now(o.model), side_of(state, i ? "copy.gguf" : "base.gguf"));
		assert_int_equal(diff->n, SMALL_TENSORS);
		for (size_t t = 0; t < diff->n; t++)
			assert_int_equal(diff->pairs[t].same, !i && t != SMALL_UP);
		assert_int_equal(diff_measure(diff, 0, diff->n, NULL), 0);
		for (size_t t = 0; t < diff->n; t++)
			assert_int_equal(diff_result(diff, t)->same, t != SMALL_UP);
		text = summary_of(diff);
		assert_has(text, "blk.0.ffn_up.weight");
		assert_null(strstr(text, "blk.0.ffn_gate.weight"));
		assert_has(text, "\n# metadata that differ: 0\n");
		free(text);
		diff_unref(diff);
	}
	close_model(&o);
}

static void side_keeps_removals_and_edits_of_its_moment(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct diff_side *before = side_now(o.model), *after;
	struct diff *diff;

	must(graft_remove(o.model, SMALL_Q) == 0);
	after = side_now(o.model);
	close_model(&o);
	assert_int_equal(before->n, SMALL_TENSORS);
	assert_int_equal(after->n, SMALL_TENSORS - 1);
	diff = diff_of(before, after);
	assert_int_equal(diff_measure(diff, 0, diff->n, NULL), 0);
	assert_int_equal(diff_result(diff, SMALL_Q)->status, DIFFERENCE_ONLY_HERE);
	assert_true(diff_result(diff, SMALL_UP)->same);
	diff_unref(diff);
}

static void unchanged_tensors_inherit_their_results(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct diff_side *there;
	struct diff *old, *diff;

	save_small(state, "copy.gguf");
	there = side_of(state, "copy.gguf");
	old = diff_of(side_now(o.model), there);
	assert_int_equal(diff_measure(old, 0, old->n, NULL), 0);
	must(fill_up(o.model, 7) == 0);
	diff = diff_of(side_now(o.model), side_of(state, "copy.gguf"));
	/* The same file opened again: its bytes are not known to be the same. */
	diff_inherit(diff, old);
	assert_null(diff_result(diff, SMALL_Q));
	diff_unref(diff);
	diff_unref(old);
	old = diff_of(side_now(o.model), diff_side_of_base(o.model->base, o.model->gguf, "base"));
	assert_int_equal(diff_measure(old, 0, old->n, NULL), 0);
	must(graft_remove(o.model, SMALL_Q) == 0);
	must(fill_up(o.model, 8) == 0);
	diff = diff_of(side_now(o.model), diff_side_of_base(o.model->base, o.model->gguf, "base"));
	diff_inherit(diff, old);
	assert_int_equal(diff->n, SMALL_TENSORS);
	for (size_t i = 0; i < diff->n; i++) {
		const struct organ *organ = &diff_pair_any(&diff->pairs[i])->at.organ;
		const bool changed = strcmp(organ->name, "blk.0.ffn_up.weight") == 0 ||
				     strcmp(organ->name, "blk.0.attn_q.weight") == 0;

		assert_int_equal(diff_result(diff, i) == NULL, changed);
	}
	assert_int_equal(diff_measure(diff, 0, diff->n, NULL), 0);
	diff_unref(diff);
	diff_unref(old);
	close_model(&o);
}

/* Save an array of strings, whose encoding depends on the container version. */
static void save_strings(void **state, const char *name, uint32_t version, char last)
{
	struct mkgguf *m = mkgguf_new(version);
	struct mk_file file;
	uint8_t bytes[64] = { 0 };
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		bytes[n] = 1;
		n += mk_width(version);
		bytes[n++] = i < 2 ? 'x' : (uint8_t)last;
	}
	mkgguf_kv_string(m, "tokenizer.ggml.model", "gpt2");
	mkgguf_kv_array(m, "tokenizer.ggml.tokens", KV_STRING, 3, bytes, n);
	mkgguf_kv_u32(m, "tokenizer.ggml.bos_token_id", version);
	mkgguf_tensor(m, "t", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
}

static void tokenizers_are_compared_by_content(void **state)
{
	struct diff *diff;
	char *text;

	save_strings(state, "old", 1, 'y');
	save_strings(state, "new", 3, 'y');
	save_strings(state, "other", 3, 'z');
	diff = diff_of(side_of(state, "old"), side_of(state, "new"));
	text = summary_of(diff);
	assert_has(text, "\ntokenizer the same 3 tokens; other special tokens");
	assert_has(text, "\n# metadata that differ: 1\n");
	free(text);
	diff_unref(diff);
	diff = diff_of(side_of(state, "new"), side_of(state, "other"));
	text = summary_of(diff);
	assert_has(text, "another vocabulary: gpt2 of 3 tokens here, gpt2 of 3 tokens there\n");
	assert_has(text, "< tokenizer.ggml.tokens = [\"x\", \"x\", \"y\"]\n");
	free(text);
	diff_unref(diff);
}

static void shrunken_file_is_an_error_of_the_read(void **state)
{
	struct diff *diff;
	struct view *view;
	char bytes[4096];

	save_small(state, "a");
	save_small(state, "b");
	diff = diff_of(side_of(state, "a"), side_of(state, "b"));
	must(truncate(in_temp(state, "b").text, 100) == 0);
	view = diff_table_view(diff);
	must(view);
	assert_int_equal(view_read(view, bytes, sizeof(bytes), 0), -EIO);
	assert_int_equal(view_read(view, bytes, strlen(DIFF_TABLE_HEADER), 0),
			 strlen(DIFF_TABLE_HEADER));
	assert_null(diff_result(diff, 0));
	view_unref(view);
	diff_unref(diff);
}

static void a_stop_ends_the_wait(void **state)
{
	const atomic_bool stop = true;
	struct diff *diff;

	save_small(state, "a");
	save_small(state, "b");
	diff = diff_of(side_of(state, "a"), side_of(state, "b"));
	assert_int_equal(diff_measure(diff, 0, diff->n, &stop), -EINTR);
	assert_int_equal(diff_measure(diff, 0, diff->n, NULL), 0);
	/* Known results take no wait. */
	assert_int_equal(diff_measure(diff, 0, diff->n, &stop), 0);
	diff_unref(diff);
}

static void *measure_all(void *argument)
{
	struct diff *diff = argument;

	must(diff_measure(diff, 0, diff->n, NULL) == 0);
	return NULL;
}

static void several_threads_and_a_pool_measure_each_pair(void **state)
{
	struct pool *pool = pool_new(4);
	struct diff_params params = { .samples = SAMPLE_DEFAULT, .pool = pool };
	struct diff *diff;
	pthread_t threads[4];

	must(pool);
	for (int round = 0; round < 20; round++) {
		save_small(state, "a");
		save_small(state, "b");
		diff = diff_new(side_of(state, "a"), side_of(state, "b"), &params);
		must(diff);
		for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
			must(pthread_create(&threads[i], NULL, measure_all, diff) == 0);
		for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
			pthread_join(threads[i], NULL);
		for (size_t i = 0; i < diff->n; i++)
			assert_true(diff_result(diff, i)->same);
		diff_unref(diff);
	}
	pool_free(pool);
}

static void out_of_memory_is_reported_and_loses_no_result(void **state)
{
	struct opened o;
	struct snapshot snapshot;
	bool well = false;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	must(fill_up(o.model, 7) == 0);
	must(model_snapshot(o.model, &snapshot) == 0);
	for (uint64_t k = 1; !well; k++) {
		struct diff *diff;
		struct view *table, *picture, *summary = NULL;
		int rc = -ENOMEM;

		allocation_fails(k);
		diff = diff_new(diff_side_of_model(o.model, &snapshot, "now"),
				diff_side_of_base(o.model->base, o.model->gguf, "base"), &plain);
		table = diff ? diff_table_view(diff) : NULL;
		picture = table ? diff_picture_view(diff) : NULL;
		if (picture)
			summary = diff_summary_view(diff, &rc);
		well = !allocation_failed();
		assert_true(summary ? rc == 0 : rc == -ENOMEM);
		assert_int_equal(well, summary != NULL);
		view_unref(table);
		view_unref(picture);
		view_unref(summary);
		diff_unref(diff);
	}
	snapshot_release(&snapshot);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
