/* SPDX-License-Identifier: MIT */
/* test_loss_table.c - fs/report/loss_table.c and fs/lazy/tensor_losses.c: a line for each tensor
 * that can be encoded in the type, with its error, computed once per content at the first read. */
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_losses.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/report/loss_table.h"
#include "fs/tensor/requantised_loss.h"
#include "tests/unit/open_model.h"

/* Number of that type in .views/types. */
static uint32_t number_of(const char *name)
{
	enum organ_view form = ORGAN_VIEWS;

	must(organ_view_find(name, &form));
	return organ_view_type_number(form);
}

static struct tensor_losses *new_losses(struct model *model)
{
	struct tensor_losses *losses = tensor_losses_new(model, NULL);

	must(losses);
	return losses;
}

static struct view *table_of(struct model *model, struct tensor_losses *losses, uint32_t type)
{
	struct snapshot snapshot;
	struct view *view;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	view = loss_table_view(model, losses, &snapshot, type);
	snapshot_release(&snapshot);
	return view;
}

static char *text_of(struct model *model, struct tensor_losses *losses, uint32_t type)
{
	struct view *view = table_of(model, losses, type);
	char *text;

	must(view);
	text = read_view(view);
	view_unref(view);
	return text;
}

/* Expected line of the slot. */
static void expect_line(struct model *model, uint32_t tensor, const char *type, const char *sizes,
			uint32_t to, const char *text)
{
	struct content *content = slots_get(model->slots, tensor);
	const struct organ_location at = organ_file_locate(model, tensor, content);
	char path[ORGAN_PATH_MAX], line[ORGAN_PATH_MAX + 100];
	double loss;

	must(requantised_loss(&at, to, NULL, NULL, &loss) == 0);
	snprintf(line, sizeof(line), "\n%s\t%s\t%s\t%16.9g\n",
		 model_organ_path(model, tensor, path), type, sizes, loss);
	if (!strstr(text, line))
		fail_msg("no%sin\n%s", line, text);
	content_unref(content);
}

static void each_line_has_sizes_and_the_error(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_losses *losses = new_losses(o.model);
	char *text = text_of(o.model, losses, number_of("types/bf16"));

	assert_int_equal(strncmp(text, LOSS_TABLE_HEADER, strlen(LOSS_TABLE_HEADER)), 0);
	expect_line(o.model, SMALL_UP, "F32", "128\t64", GGML_BF16, text);
	expect_line(o.model, SMALL_NORM, "F32", "32\t16", GGML_BF16, text);
	free(text);
	tensor_losses_free(losses);
	close_model(&o);
}

/* Rows of 8 values are no blocks of Q8_0; the quantised tensor's rows are. */
static void tensor_that_the_type_cannot_have_has_no_line(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_losses *losses = new_losses(o.model);
	char *text = text_of(o.model, losses, number_of("types/q8_0"));

	assert_null(strstr(text, "ffn_up"));
	assert_non_null(strstr(text, "ffn_down.bin"));
	free(text);
	tensor_losses_free(losses);
	close_model(&o);
}

static void errors_are_computed_once_when_they_are_read(void **state)
{
	const uint32_t type = number_of("types/f16");
	struct opened o = open_small(state, "base.gguf");
	struct tensor_losses *losses = new_losses(o.model);
	struct view *view = table_of(o.model, losses, type);
	char bytes[sizeof(LOSS_TABLE_HEADER)];

	must(view && view_read(view, bytes, strlen(LOSS_TABLE_HEADER), 0) > 0);
	assert_int_equal(memo_count(losses->types[type]), 0);
	view_unref(view);
	for (int i = 0; i < 2; i++) {
		free(text_of(o.model, losses, type));
		assert_int_equal(memo_count(losses->types[type]), SMALL_TENSORS);
	}
	assert_int_equal(memo_count(losses->types[number_of("types/f32")]), 0);
	tensor_losses_free(losses);
	close_model(&o);
}

static void graft_has_errors_of_its_own(void **state)
{
	const uint32_t type = number_of("types/f16");
	struct opened o = open_small(state, "base.gguf");
	struct tensor_losses *losses = new_losses(o.model);
	char *text;

	free(text_of(o.model, losses, type));
	assert_int_equal(fill_up(o.model, 50), 0);
	text = text_of(o.model, losses, type);
	assert_int_equal(memo_count(losses->types[type]), SMALL_TENSORS + 1);
	expect_line(o.model, SMALL_UP, "F32", "128\t64", GGML_F16, text);
	free(text);
	tensor_losses_free(losses);
	close_model(&o);
}

static void stopped_losses_are_not_waited_for(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_losses *losses = new_losses(o.model);
	struct view *view = table_of(o.model, losses, number_of("types/f16"));
	char bytes[1000];

	must(view);
	tensor_losses_stop(losses);
	assert_int_equal(view_read(view, bytes, sizeof(bytes), 0), -EINTR);
	view_unref(view);
	tensor_losses_free(losses);
	close_model(&o);
}

static void without_memory_there_is_no_table(void **state)
{
	struct tensor_losses *losses = NULL;
	struct view *view = NULL;
	struct opened o;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	assert_int_equal(fill_up(o.model, 50), 0);
	for (uint64_t k = 1; !losses; k++) {
		allocation_fails(k);
		losses = tensor_losses_new(o.model, NULL);
		assert_true(!losses == allocation_failed());
	}
	for (uint64_t k = 1; !view; k++) {
		struct snapshot snapshot;

		must(slots_snapshot(o.model->slots, &snapshot) == 0);
		allocation_fails(k);
		view = loss_table_view(o.model, losses, &snapshot, number_of("types/f16"));
		assert_true(!view == allocation_failed());
		snapshot_release(&snapshot);
	}
	view_unref(view);
	tensor_losses_free(losses);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
