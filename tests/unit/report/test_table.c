/* SPDX-License-Identifier: MIT */
/* test_table.c - fs/report/table.c: the table of any model reads back, and agrees with the
 * mount. */
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/report/report.h"
#include "fs/report/table.h"
#include "fs/report/table_merge.h"
#include "fs/report/table_parse.h"
#include "tests/unit/measures.h"

static struct view *table_of(struct model *model, struct memo *measures)
{
	struct snapshot snapshot;
	struct view *view;

	must(model_snapshot(model, &snapshot) == 0);
	view = table_view(model, measures, &snapshot);
	snapshot_release(&snapshot);
	must(view);
	return view;
}

/* Text of a report; caller frees. */
static char *report_of(const struct figures *figures)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out && report_print(figures, out) == 0 && fclose(out) == 0);
	return text;
}

/* Report of the model itself. */
static char *own_report(struct model *model, struct memo *measures)
{
	struct figures *figures = figures_now(model);
	struct zmeasure *z = calloc(figures->n + 1, sizeof(*z));
	char *text;

	must(z);
	for (size_t i = 0; i < figures->n; i++)
		if (memo_get(measures, &figures->subjects[i], NULL, &z[i]) == 0)
			figures->figures[i].z = &z[i];
	text = report_of(figures);
	free(z);
	figures_free(figures);
	return text;
}

/* The model has hostile names; one report is made from its table. */
static void the_report_of_the_table_is_that_of_the_model(void **state)
{
	static const char *const names[] = {
		"blk.0.ffn_up.weight", "blk.0.ffn_up", "a\tb\nc%d",
		"blk.3.attn_q.weight", "\xff",	       "blk.1.ffn_up_exps"
	};
	struct mkgguf *m = mkgguf_new(3);
	struct table_merge *merge = table_merge_new();
	struct figures *figures;
	struct memo *measures;
	struct error err = { 0 };
	struct mk_file file;
	struct table table;
	struct opened o;
	struct view *view;
	uint64_t line;
	char *text, *own;

	mkgguf_kv_string(m, "general.architecture", "x%\ty");
	mkgguf_kv_u32(m, "x%?y.block_count", 3);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		mkgguf_tensor(m, names[i], i == 3 ? UINT32_MAX : GGML_F32, 2, small_blocks);
	file = mkgguf_finish(m);
	save(state, "a\t%b\n.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "a\t%b\n.gguf");
	measures = new_readings(o.model);
	view = table_of(o.model, measures);
	text = read_view(view);
	if (table_parse(&table, text, view_size(view), &line, &err) < 0 ||
	    table_merge_add(merge, &table, "file", stderr, &line, &err) < 0)
		fail_msg("line %llu: %s", (unsigned long long)line, err.text);
	table_merge_finish(merge);
	figures = table_merge_figures(merge, 0);
	must(figures);
	text = report_of(figures);
	own = own_report(o.model, measures);
	assert_string_equal(text, own);
	assert_non_null(strstr(text, "model name           a?%b?\n"));
	free(text);
	free(own);
	figures_free(figures);
	table_merge_free(merge);
	table_release(&table);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void the_name_of_a_shard_is_its_models(void **state)
{
	struct opened o = open_small(state, "m-00002-of-00007.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = table_of(o.model, measures);
	char *text = read_view(view);

	assert_non_null(strstr(text, "\ntable\t1\tm\t6\t6\t0\n"));
	assert_non_null(strstr(text, "\nfact\tname\tm\n"));
	assert_non_null(strstr(text, "\nend\tm\t6\n"));
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void nothing_is_measured_before_its_line_is_read(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = table_of(o.model, measures);
	char *text;

	assert_int_equal(memo_count(measures), 0);
	text = read_view(view);
	assert_int_equal(memo_count(measures), SMALL_TENSORS);
	assert_int_equal(strlen(text), view_size(view));
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void without_memory_there_is_no_table(void **state)
{
	struct opened o;
	struct memo *measures;
	struct snapshot snapshot;
	struct view *view = NULL;
	bool well = false;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	must(model_snapshot(o.model, &snapshot) == 0);
	for (uint64_t k = 1; !well; k++) {
		allocation_fails(k);
		view = table_view(o.model, measures, &snapshot);
		well = !allocation_failed();
		if (!well && view)
			view_unref(view);
	}
	assert_non_null(view);
	view_unref(view);
	snapshot_release(&snapshot);
	memo_free(measures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
