/* SPDX-License-Identifier: MIT */
/* test_lazy_report.c - fs/lazy/lazy_report.c: a text that is made from all measures, once, at its
 * first read. */
#include "fs/lazy/lazy_report.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "gguf/reader.h"
#include "tests/unit/measures.h"

#include <pthread.h>

static atomic_int printed; /* number of sheets since a test has reset it */

static int print_all(const struct figures *figures, FILE *out)
{
	printed++;
	for (size_t i = 0; i < figures->n; i++) {
		const struct zmeasure *z = figures->figures[i].z;

		if (z)
			fprintf(out, "%5.2f %-40s\n", z->theta, figures->figures[i].file);
		else
			fprintf(out, "  ?   %-40s\n", figures->figures[i].file);
	}
	return 0;
}

/* A wrong printer: its text is longer with the measures than without. */
static int print_longer(const struct figures *figures, FILE *out)
{
	fputs(figures->n && figures->figures[0].z ? "known" : "?", out);
	return 0;
}

static int print_never(const struct figures *figures, FILE *out)
{
	(void)figures;
	fputs("so far it went well", out);
	return -ENOMEM;
}

static bool is_known(const struct figures *figures)
{
	return figures->n && figures->figures[0].z;
}

static int print_at_first(const struct figures *figures, FILE *out)
{
	fputs("text", out);
	return is_known(figures) ? -ENOMEM : 0;
}

#define ROW 47

static char *expected_text(struct model *model)
{
	char *text = calloc(1, ROW * model->gguf->n_tensors + 1);
	char path[ORGAN_PATH_MAX];

	must(text);
	for (uint32_t i = 0; i < model->gguf->n_tensors; i++)
		snprintf(text + (size_t)ROW * i, ROW + 1, "%5.2f %-40s\n",
			 z_of_slot(model, i).theta, model_organ_path(model, i, path));
	return text;
}

static void size_is_known_before_any_measurement(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_all);

	assert_int_equal(view_size(view), ROW * SMALL_TENSORS);
	assert_true(view_is_computed(view));
	assert_int_equal(memo_count(measures), 0);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void read_of_any_byte_needs_every_measure(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_all);
	char *expected = expected_text(o.model), *text, byte;

	assert_int_equal(view_read(view, &byte, 1, ROW + 1), 1);
	assert_int_equal(byte, expected[ROW + 1]);
	assert_int_equal(memo_count(measures), SMALL_TENSORS);
	text = read_view(view);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void report_prints_once_for_size_and_once_for_read(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view;
	char byte;

	printed = 0;
	view = lazy_report_view(measures, figures_now(o.model), print_all);
	assert_int_equal(printed, 1);
	for (uint64_t at = 0; at < view_size(view); at++)
		assert_int_equal(view_read(view, &byte, 1, at), 1);
	assert_int_equal(printed, 2);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void report_measures_grafts_of_its_snapshot(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct content *content;
	struct view *view;
	char *expected, *text;

	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	expected = expected_text(o.model);
	view = lazy_report_view(measures, figures_now(o.model), print_all);
	assert_int_equal(content->refs, 3);
	slots_set(o.model->slots, SMALL_UP, NULL);
	text = read_view(view);
	assert_string_equal(text, expected);
	view_unref(view);
	memo_free(measures);
	assert_int_equal(content->refs, 1);
	content_unref(content);
	free(text);
	free(expected);
	close_model(&o);
}

static void a_type_without_values_has_no_measure_and_is_no_error(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct memo *measures;
	struct mk_file file;
	struct opened o;
	struct view *view;
	char *text;

	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_Q8_1, 2, small_blocks);
	mkgguf_tensor(m, "blk.0.ffn_gate.weight", GGML_Q8_0, 2, small_blocks);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	measures = new_readings(o.model);
	view = lazy_report_view(measures, figures_now(o.model), print_all);
	text = read_view(view);
	assert_memory_equal(text, "  ?   organs/blk_0_ffn_up.bin ", 30);
	assert_memory_not_equal(text + ROW, "  ? ", 4);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void a_model_without_tensors_has_a_sheet(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct memo *measures;
	struct opened o;
	struct view *view;
	char *text;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	measures = new_readings(o.model);
	view = lazy_report_view(measures, figures_now(o.model), print_longer);
	text = read_view(view);
	assert_string_equal(text, "?");
	free(text);
	view_unref(view);
	view = lazy_report_view(measures, figures_now(o.model), print_all);
	assert_int_equal(view_size(view), 0);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void failed_measurement_fails_one_read_only(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_all);
	const atomic_bool stop = true;
	char byte;

	/* No earlier result may be cached, not even that of an interrupted read. */
	change_times(state, "base.gguf");
	assert_true(view_read_cancellable(view, &byte, 1, 0, &stop) < 0);
	assert_int_equal(view_read(view, &byte, 1, 0), -EIO);
	restore_times(state, "base.gguf");
	assert_int_equal(view_read(view, &byte, 1, 0), 1);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void a_text_of_another_length_than_promised_is_an_error(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_longer);
	char byte;

	assert_int_equal(view_size(view), 1);
	assert_int_equal(view_read(view, &byte, 1, 0), -EIO);
	assert_int_equal(view_read(view, &byte, 1, 0), -EIO);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static int print_longer_once(const struct figures *figures, FILE *out)
{
	fputs(is_known(figures) && printed++ == 0 ? "known" : "?", out);
	return 0;
}

static void a_text_of_another_length_is_not_kept(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_longer_once);
	char byte;

	printed = 0;
	assert_int_equal(view_read(view, &byte, 1, 0), -EIO);
	assert_int_equal(view_read(view, &byte, 1, 0), 1);
	assert_int_equal(byte, '?');
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void failed_print_gives_no_view_or_no_bytes(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct content *content;
	struct view *view;
	char byte;

	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	assert_null(lazy_report_view(measures, figures_now(o.model), print_never));
	assert_int_equal(content->refs, 2);
	content_unref(content);
	view = lazy_report_view(measures, figures_now(o.model), print_at_first);
	assert_int_equal(view_size(view), 4);
	assert_int_equal(view_read(view, &byte, 1, 0), -ENOMEM);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

struct reader {
	pthread_t thread;
	struct view *view;
	char *text;
};

static void *read_all(void *argument)
{
	struct reader *reader = argument;

	reader->text = read_view(reader->view);
	return NULL;
}

static void several_readers_read_the_same_text(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), print_all);
	char *expected = expected_text(o.model);
	struct reader readers[8];

	printed = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(readers); i++) {
		readers[i].view = view;
		must(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]) == 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(readers); i++) {
		pthread_join(readers[i].thread, NULL);
		assert_string_equal(readers[i].text, expected);
		free(readers[i].text);
	}
	assert_int_equal(printed, 1);
	assert_int_equal(memo_count(measures), SMALL_TENSORS);
	free(expected);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void without_memory_there_is_no_view_and_no_content_is_kept(void **state)
{
	struct opened o;
	struct memo *measures;
	struct content *content;
	struct view *view;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	for (uint64_t k = 1;; k++) {
		struct figures *figures = figures_now(o.model);

		allocation_fails(k);
		view = lazy_report_view(measures, figures, print_all);
		if (!allocation_failed())
			break;
		assert_null(view);
		assert_int_equal(content->refs, 2);
	}
	assert_non_null(view);
	view_unref(view);
	content_unref(content);
	memo_free(measures);
	close_model(&o);
}

static void without_memory_a_read_fails_and_later_it_does_not(void **state)
{
	struct opened o;
	struct memo *measures;
	struct view *view;
	char byte;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	view = lazy_report_view(measures, figures_now(o.model), print_all);
	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		const struct subject subject = { i, NULL };

		assert_int_equal(memo_prepare(measures, &subject, 1, NULL), 0);
	}
	for (uint64_t k = 1;; k++) {
		ssize_t rc;

		allocation_fails(k);
		rc = view_read(view, &byte, 1, 0);
		if (!allocation_failed()) {
			assert_int_equal(rc, 1);
			assert_true(k > 2);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
	}
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
