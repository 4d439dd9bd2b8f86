/* SPDX-License-Identifier: MIT */
/* test_table_parse.c - fs/report/table_parse.c: tables of organfs, and no harm from other text. */
#include "tests/unit/table_text.h"

static const struct mk_row rows[] = { { "blk.0.ffn_up.weight", 30, 1, NULL },
				      { "b%09c", 40, 2, "Q8_0" } };
static const char facts[] = "fact\tname\ta%20b\n"
			    "fact\tarchitecture\tllama\n"
			    "fact\tblock_count\t3\t5\n"
			    "fact\trope.freq_base\tinf\n"
			    "fact\tsomething.new\tanything\tit\tis\n";

static char *text_of(size_t *size)
{
	return mk_table_text("m", "7", facts, rows, ARRAY_LENGTH(rows), size);
}

static void a_table_is_read(void **state)
{
	struct table table;
	struct error err = { 0 };
	const struct table_part *part;
	uint64_t line;
	size_t size;
	char *text = text_of(&size);

	(void)state;
	assert_int_equal(table_parse(&table, text, size, &line, &err), 0);
	assert_int_equal(table.n, 1);
	part = table.parts;
	assert_string_equal(part->model, "m");
	assert_int_equal(part->line, 3);
	assert_int_equal(part->tensors, 2);
	assert_int_equal(part->total, 7);
	assert_string_equal(part->card.name, "a b");
	assert_string_equal(part->card.architecture, "llama");
	assert_string_equal(part->card.scaling, "");
	assert_true(part->card.counts[CARD_BLOCKS].known);
	assert_int_equal(part->card.counts[CARD_BLOCKS].low, 3);
	assert_int_equal(part->card.counts[CARD_BLOCKS].high, 5);
	assert_false(part->card.counts[CARD_EXPERTS].known);
	assert_true(part->card.numbers[CARD_ROPE_BASE].known);
	assert_true(isinf(part->card.numbers[CARD_ROPE_BASE].value));
	assert_int_equal(part->n, 2);
	assert_string_equal(part->rows[0].tensor, "blk.0.ffn_up.weight");
	assert_true(same_double(part->rows[0].z.theta, 30));
	assert_string_equal(part->rows[1].tensor, "b\tc");
	assert_int_equal(part->rows[1].tensor_length, 3);
	assert_int_equal(part->rows[1].shard, 2);
	assert_int_equal(part->rows[1].block, 1);
	assert_int_equal(part->rows[1].line, 10);
	assert_string_equal(part->rows[1].type, "Q8_0");
	table_release(&table);
}

static void several_tables_follow_one_another(void **state)
{
	struct table table;
	struct error err = { 0 };
	char *text = NULL;
	uint64_t line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	must(out);
	for (int i = 0; i < 20; i++)
		mk_table(out, i % 2 ? "odd" : "even", "-", "", rows, 2);
	must(fclose(out) == 0);
	assert_int_equal(table_parse(&table, text, size, &line, &err), 0);
	assert_int_equal(table.n, 20);
	for (size_t i = 0; i < 20; i++) {
		assert_string_equal(table.parts[i].model, i % 2 ? "odd" : "even");
		assert_int_equal(table.parts[i].total, 0);
		assert_int_equal(table.parts[i].n, 2);
	}
	table_release(&table);
}

static int parse_copy(const char *text, size_t size, uint64_t *line, struct error *err)
{
	char *copy = malloc(size + 1);
	struct table table;
	int rc;

	must(copy);
	memcpy(copy, text, size);
	copy[size] = '\0';
	rc = table_parse(&table, copy, size, line, err);
	table_release(&table);
	return rc;
}

static void truncated_table_is_refused(void **state)
{
	struct error err = { 0 };
	uint64_t line;
	size_t size;
	char *text = text_of(&size);

	(void)state;
	for (size_t n = 0; n < size; n++) {
		assert_int_equal(parse_copy(text, n, &line, &err), -EBADMSG);
		assert_true(line > 0 && line <= 11 && err.text[0]);
	}
	assert_int_equal(parse_copy(text, size, &line, &err), 0);
	free(text);
}

static void no_change_of_a_byte_does_harm(void **state)
{
	static const char bytes[] = { '\0', '\t', '\n', '%', '-', '9', 'x', '#', ' ', '\xff' };
	size_t size, refused = 0;
	char *text = text_of(&size);

	(void)state;
	for (size_t at = 0; at < size; at++) {
		const char was = text[at];

		for (size_t i = 0; i < sizeof(bytes); i++) {
			struct error err = { 0 };
			uint64_t line;
			int rc;

			text[at] = bytes[i];
			rc = parse_copy(text, size, &line, &err);
			assert_true(rc == 0 || (rc == -EBADMSG && err.text[0]));
			refused += rc != 0;
		}
		text[at] = was;
	}
	assert_true(refused > size);
	free(text);
}

static void error_names_its_line(void **state)
{
	static const struct {
		const char *text;
		uint64_t line;
		const char *words;
	} wrong[] = {
		{ "", 1, "no table" },
		{ "# only\n", 1, "no table" },
		{ "GGUF\n", 1, "not a line of a .table" },
		{ "\ntable\t2\tm\t0\t0\t0\n", 2, "format 2" },
		{ "table\n", 1, "invalid first line" },
		{ "table\t1\tm\t0\n", 1, "invalid first line" },
		{ "table\t1\t\t0\t0\t0\nend\t\t0\n", 1, "invalid model name" },
		{ "table\t1\tm%00n\t0\t0\t0\n", 1, "invalid model name" },
		{ "table\t1\tm\t4294967296\t-\t0\n", 1, "invalid first line" },
		{ "table\t1\tm\t0\t0\t0\ntable\t1\tn\t0\t0\t0\n", 2, "before the one above" },
		{ "table\t1\tm\t0\t0\t0\nend\tn\t0\n", 2, "has not begun" },
		{ "table\t1\tm\t1\t1\t0\nend\tm\t1\n", 2, "has 0 tensors, but announces 1" },
		{ "table\t1\tm\t1\t1\t0\nend\tm\t0\n", 2, "has 0 tensors, but announces 1" },
		{ "table\t1\tm\t0\t0\t0\nend\tm\t1\n", 2, "has 0 tensors" },
		{ "table\t1\tm\t0\t0\t0\n", 1, "begins in line 1" },
		{ "end\tm\t0\n", 1, "has not begun" },
		{ "fact\tname\tx\n", 1, "outside" },
		{ "tensor\tm\n", 1, "outside" },
		{ "table\t1\tm\t0\t0\t0\nfact\n", 2, "outside" },
		{ "table\t1\tm\t0\t0\t0\nfact\tblock_count\t3\n", 2, "two numbers" },
		{ "table\t1\tm\t0\t0\t0\nfact\tblock_count\t3\t2\n", 2, "two numbers" },
		{ "table\t1\tm\t0\t0\t0\nfact\trope.freq_base\t1\t2\n", 2, "not a number" },
		{ "table\t1\tm\t0\t0\t0\nfact\tarchitecture\t\n", 2, "not text" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		struct error err = { 0 };
		uint64_t line;

		assert_int_equal(parse_copy(wrong[i].text, strlen(wrong[i].text), &line, &err),
				 -EBADMSG);
		if (!strstr(err.text, wrong[i].words) || line != wrong[i].line)
			fail_msg("%s: line %llu: %s", wrong[i].text, (unsigned long long)line,
				 err.text);
	}
}

static void texts_that_are_too_long_are_refused(void **state)
{
	struct error err = { 0 };
	char text[1024], name[600];
	uint64_t line;

	(void)state;
	memset(name, 'n', sizeof(name));
	snprintf(text, sizeof(text), "table\t1\tm\t0\t0\t0\nfact\tname\t%.*s\nend\tm\t0\n", 255,
		 name);
	assert_int_equal(parse_copy(text, strlen(text), &line, &err), 0);
	snprintf(text, sizeof(text), "table\t1\tm\t0\t0\t0\nfact\tname\t%.*s\nend\tm\t0\n", 256,
		 name);
	assert_int_equal(parse_copy(text, strlen(text), &line, &err), -EBADMSG);
	snprintf(text, sizeof(text), "table\t1\tm\t0\t0\t0\nfact\tarchitecture\t%.*s\nend\tm\t0\n",
		 64, name);
	assert_int_equal(parse_copy(text, strlen(text), &line, &err), -EBADMSG);
}

static void out_of_memory_is_reported(void **state)
{
	size_t size;
	char *text = text_of(&size);

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1;; k++) {
		struct error err = { 0 };
		char *copy = malloc(size + 1);
		struct table table;
		uint64_t line;
		int rc;

		must(copy);
		memcpy(copy, text, size + 1);
		allocation_fails(k);
		rc = table_parse(&table, copy, size, &line, &err);
		table_release(&table);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	free(text);
}

UNIT_MAIN(temp_setup, temp_teardown)
