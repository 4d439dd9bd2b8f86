/* SPDX-License-Identifier: MIT */
/* test_lazy_text.c - fs/lazy/lazy_text.c: text with cells, each of which is measured when it is
 * read. */
#include "fs/lazy/lazy_text.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/whole_text.h"
#include "tests/unit/hashes.h"

/* A cell of six bytes. */
static int print_degrees(char *text, size_t n, const struct zmeasure *z)
{
	return z ? snprintf(text, n, "<%4.1f>", z->theta) : snprintf(text, n, "<none>");
}

static int print_fixed(char *text, size_t n, const struct zmeasure *z)
{
	(void)z;
	return snprintf(text, n, "same");
}

/* A wrong printer: its text is longer with the measure than without. */
static int print_longer(char *text, size_t n, const struct zmeasure *z)
{
	return snprintf(text, n, z ? "known" : "?");
}

static int print_nothing(char *text, size_t n, const struct zmeasure *z)
{
	(void)z;
	return snprintf(text, n, "%s", "");
}

static int print_fails(char *text, size_t n, const struct zmeasure *z)
{
	(void)text;
	(void)n;
	(void)z;
	return -1;
}

static int print_too_much(char *text, size_t n, const struct zmeasure *z)
{
	(void)z;
	return snprintf(text, n, "%*s", LAZY_TEXT_CELL_MAX, "");
}

static int print_the_most(char *text, size_t n, const struct zmeasure *z)
{
	(void)z;
	return snprintf(text, n, "%*s", LAZY_TEXT_CELL_MAX - 1, "");
}

/* Text "0 <12.3>\n1 <45.6>\n...end\n" of the first n tensors of the base. */
#define LINE 9

static struct view *lines(struct memo *measures, uint32_t n)
{
	struct lazy_text *cells = lazy_text_new(measures);

	must(cells);
	for (uint32_t i = 0; i < n; i++) {
		const struct subject subject = { i, NULL };

		fprintf(lazy_text_stream(cells), "%u ", i % 10);
		lazy_text_add(cells, &subject, print_degrees);
		fputc('\n', lazy_text_stream(cells));
	}
	fputs("end\n", lazy_text_stream(cells));
	return lazy_text_view(cells);
}

static void cells_stand_where_they_were_added(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lines(measures, SMALL_TENSORS);
	char *text, expected[LINE * SMALL_TENSORS + 5];
	size_t n = 0;

	assert_int_equal(view_size(view), LINE * SMALL_TENSORS + 4);
	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		const struct zmeasure z = z_of_slot(o.model, i);

		n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%u <%4.1f>\n", i,
				      z.theta);
	}
	snprintf(expected + n, sizeof(expected) - n, "end\n");
	text = read_view(view);
	assert_string_equal(text, expected);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void nothing_is_measured_before_a_cell_is_read(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lines(measures, SMALL_TENSORS);
	char bytes[16];

	assert_true(view_is_computed(view));
	assert_int_equal(view_read(view, bytes, 2, 0), 2);
	assert_memory_equal(bytes, "0 ", 2);
	assert_int_equal(view_read(view, bytes, 3, LINE - 1), 3);
	assert_memory_equal(bytes, "\n1 ", 3);
	assert_int_equal(view_read(view, bytes, 16, LINE * SMALL_TENSORS), 4);
	assert_memory_equal(bytes, "end\n", 4);
	assert_int_equal(memo_count(measures), 0);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void only_the_cells_that_are_read_are_measured(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	for (uint64_t from = 0; from < SMALL_TENSORS * LINE; from++)
		for (size_t n = 1; n < 3 * LINE; n++) {
			struct memo *measures = new_readings(o.model);
			struct view *view = lines(measures, SMALL_TENSORS);
			uint64_t touched = 0;
			char bytes[3 * LINE];

			for (uint64_t i = 0; i < SMALL_TENSORS; i++)
				touched += from < i * LINE + 8 && i * LINE + 2 < from + n;
			assert_true(view_read(view, bytes, n, from) > 0);
			assert_int_equal(memo_count(measures), touched);
			view_unref(view);
			memo_free(measures);
		}
	close_model(&o);
}

static void there_may_be_many_cells(void **state)
{
	struct memo *measures;
	struct opened o;
	struct view *view;
	char *text;

	save_many(state, "base.gguf", 100);
	o = open_model(state, "base.gguf");
	measures = new_readings(o.model);
	view = lines(measures, 100);
	text = read_view(view);
	for (uint32_t i = 0; i < 100; i++) {
		const struct zmeasure z = z_of_slot(o.model, i);
		char cell[16];

		print_degrees(cell, sizeof(cell), &z);
		assert_memory_equal(text + i * LINE + 2, cell, 6);
	}
	assert_int_equal(memo_count(measures), 100);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void a_text_may_have_no_cells_and_nothing_in_it(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_text_view(lazy_text_new(measures));
	struct lazy_text *cells;
	char *text;

	assert_int_equal(view_size(view), 0);
	view_unref(view);
	cells = lazy_text_new(measures);
	fputs("only text", lazy_text_stream(cells));
	view = lazy_text_view(cells);
	text = read_view(view);
	assert_string_equal(text, "only text");
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void cells_may_be_neighbours_of_several_widths(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct lazy_text *cells = lazy_text_new(measures);
	const struct subject subject = { SMALL_UP, NULL };
	struct view *view;
	char *text;

	lazy_text_add(cells, &subject, print_fixed);
	lazy_text_add(cells, &subject, print_the_most);
	lazy_text_add(cells, &subject, print_fixed);
	view = lazy_text_view(cells);
	assert_int_equal(view_size(view), 4 + LAZY_TEXT_CELL_MAX - 1 + 4);
	text = read_view(view);
	assert_memory_equal(text, "same ", 5);
	assert_string_equal(text + LAZY_TEXT_CELL_MAX + 2, " same");
	assert_int_equal(memo_count(measures), 1);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void type_without_values_prints_no_measure(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct memo *measures;
	struct mk_file file;
	struct opened o;
	struct view *view;
	char *text;

	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_Q8_1, 2, small_blocks);
	mkgguf_tensor(m, "blk.0.ffn_gate.weight", 200, 2, small_blocks);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	measures = new_readings(o.model);
	view = lines(measures, 2);
	text = read_view(view);
	assert_string_equal(text, "0 <none>\n1 <none>\nend\n");
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void failed_measurement_fails_the_read(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lines(measures, SMALL_TENSORS);
	const atomic_bool stop = true;
	char bytes[LINE];

	/* The pool has begun the first tensor, and may finish it before the change. */
	assert_int_equal(view_read_cancellable(view, bytes, LINE, 0, &stop), -EINTR);
	change_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, LINE, LINE), -EIO);
	assert_int_equal(view_read(view, bytes, 2, LINE), 2);
	restore_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, LINE, LINE), LINE);
	assert_int_equal(view_read(view, bytes, LINE, 0), LINE);
	memo_stop(measures);
	assert_int_equal(view_read(view, bytes, LINE, 0), -EINTR);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void a_cell_of_another_width_than_promised_is_an_error(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct lazy_text *cells = lazy_text_new(measures);
	const struct subject subject = { SMALL_UP, NULL };
	struct view *view;
	char byte;

	lazy_text_add(cells, &subject, print_longer);
	view = lazy_text_view(cells);
	assert_int_equal(view_size(view), 1);
	assert_int_equal(view_read(view, &byte, 1, 0), -EIO);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void a_cell_of_no_or_too_great_width_is_refused(void **state)
{
	lazy_text_print_fn *const bad[] = { print_nothing, print_fails, print_too_much };
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject subject = { SMALL_UP, NULL };

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct lazy_text *cells = lazy_text_new(measures);

		lazy_text_add(cells, &subject, bad[i]);
		lazy_text_add(cells, &subject, print_fixed);
		assert_null(lazy_text_view(cells));
	}
	memo_free(measures);
	close_model(&o);
}

/* Make a text, and count the calls. */
static int print_whole(void *context, const struct halt *halt, FILE *out)
{
	fprintf(out, "%32s", halt ? "all of it" : "");
	*(unsigned *)context += halt != NULL;
	return 0;
}

/* Text "HASH HASH all of it" of two tensors. */
static void the_last_cell_of_hashes_may_be_a_text(void **state)
{
	static const struct whole_text_ops ops = { .print = print_whole };
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct lazy_text *cells = lazy_text_new_of_hashes(hashes, HASH_FILE);
	unsigned made = 0;
	struct whole_text *whole = whole_text_new(&ops, &made, NULL);
	char bytes[100] = "", first[XXH128_TEXT], last[XXH128_TEXT], expected[100];
	struct view *view;

	must(cells && whole);
	lazy_text_add_hash(cells, &(struct subject){ SMALL_UP, NULL });
	fputc(' ', lazy_text_stream(cells));
	lazy_text_add_hash(cells, &(struct subject){ SMALL_DOWN, NULL });
	fputc(' ', lazy_text_stream(cells));
	lazy_text_add_whole(cells, whole);
	view = lazy_text_view(cells);
	assert_non_null(view);
	assert_int_equal(view_size(view), 32 + 1 + 32 + 1 + 32);
	/* A read of the text alone hashes nothing. */
	assert_int_equal(view_read(view, bytes, 32, 66), 32);
	assert_string_equal(bytes, "                       all of it");
	assert_int_equal(made, 1);
	assert_int_equal(tensor_hashes_count(hashes), 0);
	/* The next reads are of the cell before it, and of all. */
	assert_int_equal(view_read(view, bytes, 32, 33), 32);
	assert_int_equal(tensor_hashes_count(hashes), 1);
	assert_int_equal(view_read(view, bytes, sizeof(bytes), 0), 98);
	digest_of_slot(o.model, HASH_FILE, SMALL_UP, first);
	digest_of_slot(o.model, HASH_FILE, SMALL_DOWN, last);
	snprintf(expected, sizeof(expected), "%s %s %32s", first, last, "all of it");
	assert_memory_equal(bytes, expected, 98);
	assert_int_equal(tensor_hashes_count(hashes), 2);
	close_hashed(&o, hashes, view);
}

static void failed_text_has_no_view(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct lazy_text *cells = lazy_text_new(measures);
	const struct subject subject = { SMALL_UP, NULL };

	lazy_text_fail(cells);
	lazy_text_add(cells, &subject, print_fixed);
	fputs("more", lazy_text_stream(cells));
	assert_null(lazy_text_view(cells));
	memo_free(measures);
	close_model(&o);
}

static void a_view_shows_the_content_it_was_made_of(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct content *content;
	struct zmeasure expected;
	struct lazy_text *cells = lazy_text_new(measures);
	struct view *view;
	char *text, cell[16];

	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	expected = z_of_slot(o.model, SMALL_UP);
	lazy_text_add(cells, &(struct subject){ SMALL_UP, content }, print_degrees);
	view = lazy_text_view(cells);
	assert_int_equal(content->refs, 3);
	/* The content is in no slot any more. */
	slots_set(o.model->slots, SMALL_UP, NULL);
	text = read_view(view);
	print_degrees(cell, sizeof(cell), &expected);
	assert_string_equal(text, cell);
	view_unref(view);
	memo_free(measures);
	assert_int_equal(content->refs, 1);
	content_unref(content);
	free(text);
	close_model(&o);
}

static void without_memory_there_is_no_view_and_no_content_is_kept(void **state)
{
	struct opened o;
	struct memo *measures;
	struct content *content;
	struct view *view = NULL;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	for (uint64_t k = 1;; k++) {
		struct lazy_text *cells;

		allocation_fails(k);
		cells = lazy_text_new(measures);
		/* 30 cells exceed the first allocation. The loop goes on after a failure, as
		 * callers do. */
		for (unsigned i = 0; cells && i < 30; i++)
			lazy_text_add(cells, &(struct subject){ SMALL_UP, content }, print_degrees);
		view = cells ? lazy_text_view(cells) : NULL;
		if (!allocation_failed())
			break;
		assert_null(view);
		assert_int_equal(content->refs, 2);
	}
	assert_non_null(view);
	view_unref(view);
	assert_int_equal(content->refs, 2);
	content_unref(content);
	memo_free(measures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
