/* SPDX-License-Identifier: MIT */
/* test_table_merge.c - fs/report/table_merge.c: tables of parts become models, in any order. */
#include "fs/report/table_merge.h"
#include "tests/unit/table_text.h"

#define TABLES 4

struct scene {
	struct table_merge *merge;
	struct table tables[TABLES];
	size_t n;
	char *said;
	size_t size;
	FILE *out;
	struct error err;
	uint64_t line;
};

static struct scene begin(void)
{
	struct scene s = { .merge = table_merge_new() };

	must(s.merge);
	return s;
}

/* Add a table, as from a file of its own. */
static int add(struct scene *s, const char *model, const char *total, const char *facts,
	       const struct mk_row *rows, size_t n)
{
	size_t size;
	char *text = mk_table_text(model, total, facts, rows, n, &size);
	struct table *table = &s->tables[s->n++];
	int rc;

	must(s->n <= TABLES);
	if (!s->out)
		s->out = open_memstream(&s->said, &s->size);
	must(s->out && table_parse(table, text, size, &s->line, &s->err) == 0);
	rc = table_merge_add(s->merge, table, "file", s->out, &s->line, &s->err);
	fflush(s->out);
	return rc;
}

static void end(struct scene *s)
{
	table_merge_free(s->merge);
	for (size_t i = 0; i < s->n; i++)
		table_release(&s->tables[i]);
	if (s->out)
		fclose(s->out);
	free(s->said);
}

static const struct mk_row first[] = { { "b", 10, 1, NULL }, { "a", 20, 1, NULL } };
static const struct mk_row second[] = { { "d", 30, 2, NULL }, { "c", 40, 2, NULL } };

static void shards_come_into_the_order_of_the_file(void **state)
{
	static const char *const order[] = { "organs/b.bin", "organs/a.bin", "organs/d.bin",
					     "organs/c.bin" };

	(void)state;
	for (int backwards = 0; backwards < 2; backwards++) {
		struct scene s = begin();
		struct figures *figures;

		assert_int_equal(add(&s, "m", "4", "", backwards ? second : first, 2), 0);
		assert_int_equal(add(&s, "m", "4", "", backwards ? first : second, 2), 0);
		table_merge_finish(s.merge);
		assert_int_equal(table_merge_models(s.merge), 1);
		figures = table_merge_figures(s.merge, 0);
		assert_non_null(figures);
		assert_int_equal(figures->n, 4);
		assert_int_equal(figures->total, 0);
		for (size_t i = 0; i < 4; i++)
			assert_string_equal(figures->figures[i].file, order[i]);
		assert_true(same_double(figures->figures[3].z->theta, 40));
		assert_string_equal(figures->card->name, "m");
		assert_int_equal(s.size, 0);
		figures_free(figures);
		end(&s);
	}
}

static void a_shard_and_the_whole_file_agree_on_the_order(void **state)
{
	static const struct mk_row whole[] = { { "b", 10, 1, NULL },
					       { "d", 30, 1, NULL },
					       { "c", 40, 1, NULL },
					       { "e", 50, 1, NULL } };
	static const char *const order[] = { "organs/b.bin", "organs/d.bin", "organs/c.bin",
					     "organs/e.bin" };

	(void)state;
	for (int backwards = 0; backwards < 2; backwards++) {
		struct scene s = begin();
		struct figures *figures;

		for (int k = 0; k < 2; k++)
			assert_int_equal(k == backwards ? add(&s, "m", "4", "", second, 2)
							: add(&s, "m", "4", "", whole, 4),
					 0);
		table_merge_finish(s.merge);
		figures = table_merge_figures(s.merge, 0);
		assert_non_null(figures);
		assert_int_equal(figures->n, 4);
		for (size_t i = 0; i < 4; i++)
			assert_string_equal(figures->figures[i].file, order[i]);
		figures_free(figures);
		end(&s);
	}
}

static void repeated_row_counts_once(void **state)
{
	struct scene s = begin();
	struct ranked ranked;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(&s, "m", "2", "", first, 2), 0);
	table_merge_finish(s.merge);
	ranked = table_merge_ranked(s.merge, 0);
	assert_int_equal(ranked.all.tensors, 2);
	assert_int_equal(ranked.parameters, 16);
	assert_true(same_double(ranked.all.theta, 30));
	assert_int_equal(s.size, 0);
	end(&s);
}

static void differing_repeat_is_reported_and_last_wins(void **state)
{
	static const struct mk_row later[] = { { "b", 11, 1, NULL }, { "a", 20, 1, NULL } };
	struct scene s = begin();
	struct ranked ranked;

	(void)state;
	assert_int_equal(add(&s, "m", "2", "", first, 2), 0);
	assert_int_equal(add(&s, "m", "2", "", later, 2), 0);
	table_merge_finish(s.merge);
	ranked = table_merge_ranked(s.merge, 0);
	assert_true(same_double(ranked.all.theta, 31));
	assert_string_equal(s.said, "file:3: m: 1 tensor was measured otherwise before; the "
				    "measures of this table are used\n");
	end(&s);
}

static void part_is_marked_and_not_compared(void **state)
{
	struct scene s = begin();
	struct figures *figures;
	struct ranked ranked;

	(void)state;
	assert_int_equal(add(&s, "m", "-", "", first, 2), 0);
	assert_int_equal(add(&s, "m", "9", "", second, 2), 0);
	table_merge_finish(s.merge);
	figures = table_merge_figures(s.merge, 0);
	assert_int_equal(figures->total, 9);
	ranked = table_merge_ranked(s.merge, 0);
	assert_int_equal(ranked.total, 9);
	assert_int_equal(ranked.all.tensors, 4);
	assert_int_equal(ranked.all.measured, 0);
	figures_free(figures);
	end(&s);
}

static void models_stand_in_the_order_of_their_names(void **state)
{
	struct scene s = begin();

	(void)state;
	assert_int_equal(add(&s, "m", "2", "", first, 2), 0);
	assert_int_equal(add(&s, "z", "2", "", first, 2), 0);
	assert_int_equal(add(&s, "a", "2", "", first, 2), 0);
	assert_int_equal(add(&s, "m", "2", "", first, 2), 0);
	table_merge_finish(s.merge);
	assert_int_equal(table_merge_models(s.merge), 3);
	assert_string_equal(table_merge_name(s.merge, 0), "a");
	assert_string_equal(table_merge_name(s.merge, 1), "m");
	assert_string_equal(table_merge_name(s.merge, 2), "z");
	end(&s);
}

static void facts_come_from_any_part_that_has_them(void **state)
{
	struct scene s = begin();
	struct figures *figures;

	(void)state;
	assert_int_equal(add(&s, "m", "4", "fact\tname\tx\n", second, 2), 0);
	assert_int_equal(add(&s, "m", "4", "fact\tblock_count\t3\t3\nfact\tname\tx\n", first, 2),
			 0);
	table_merge_finish(s.merge);
	figures = table_merge_figures(s.merge, 0);
	assert_string_equal(figures->card->name, "x");
	assert_int_equal(figures->card->counts[CARD_BLOCKS].high, 3);
	figures_free(figures);
	end(&s);
}

static void another_model_of_the_name_is_refused(void **state)
{
	static const char facts[] = "fact\tname\tx\nfact\tarchitecture\tllama\n"
				    "fact\tblock_count\t3\t3\nfact\trope.freq_base\t10\n";
	static const struct mk_row other[] = { { "b", 10, 1, "Q8_0" } };
	static const struct mk_row more[] = { { "x", 1, 1, NULL } };
	static const struct {
		const char *total, *facts;
		const struct mk_row *rows;
		uint64_t line;
		const char *words;
	} wrong[] = {
		{ "3", "", second, 3, "number of its tensors" },
		{ "2", "", more, 3, "more than its 2 tensors" },
		{ "2", "", other, 4, "type or the shape" },
		{ "2", "fact\tname\ty\n", first, 3, "name differs" },
		{ "2", "fact\tarchitecture\tgpt2\n", first, 3, "architecture differs" },
		{ "2", "fact\tblock_count\t4\t4\n", first, 3, "block_count differs" },
		{ "2", "fact\trope.freq_base\t11\n", first, 3, "rope.freq_base differs" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		struct scene s = begin();

		assert_int_equal(add(&s, "m", "2", facts, first, 2), 0);
		assert_int_equal(add(&s, "m", wrong[i].total, wrong[i].facts, wrong[i].rows, 1),
				 -EBADMSG);
		if (!strstr(s.err.text, wrong[i].words) || s.line != wrong[i].line)
			fail_msg("%zu: line %llu: %s", i, (unsigned long long)s.line, s.err.text);
		end(&s);
	}
}

static void out_of_memory_is_reported(void **state)
{
	size_t size;
	char *text = mk_table_text("m", "2", "", first, 2, &size);
	struct table table;
	uint64_t line;
	struct error err = { 0 };

	(void)state;
	needs_failing_allocations();
	assert_int_equal(table_parse(&table, text, size, &line, &err), 0);
	for (uint64_t k = 1;; k++) {
		struct table_merge *merge;
		struct figures *figures = NULL;
		int rc = -ENOMEM;

		allocation_fails(k);
		merge = table_merge_new();
		if (merge)
			rc = table_merge_add(merge, &table, "file", stderr, &line, &err);
		if (rc == 0) {
			table_merge_finish(merge);
			figures = table_merge_figures(merge, 0);
		}
		if (!allocation_failed()) {
			assert_non_null(figures);
			figures_free(figures);
			table_merge_free(merge);
			break;
		}
		assert_null(figures);
		assert_true(rc == 0 || rc == -ENOMEM);
		table_merge_free(merge);
	}
	table_release(&table);
}

UNIT_MAIN(temp_setup, temp_teardown)
