/* SPDX-License-Identifier: MIT */
/* test_type_edit.c - fs/edit/type_edit.c and fs/edit/type_lines.c: types chosen for slots, one by
 * one or by lines of patterns, all or none. */
#include "fs/edit/type_edit.h"
#include "fs/edit/undo.h"
#include "fs/model/slots.h"
#include "gguf/reader.h"
#include "gguf/types.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_model.h"

/* Type that the slot shows. */
static uint32_t shown(struct model *model, uint32_t slot)
{
	struct content *content = slots_get(model->slots, slot);
	const uint32_t type = model_organ(model, slot, content).type;

	content_unref(content);
	return type;
}

static int choose(struct model *model, uint32_t slot, uint32_t type)
{
	const struct type_choice choice = { slot, type };

	return type_edit_choose(model, &choice, 1);
}

static int write_lines(struct model *model, const char *text)
{
	char lines[2048];

	snprintf(lines, sizeof(lines), "%s", text);
	return type_edit_write(model, TYPE_EDIT_FILE, lines);
}

static void reopen(void **state, struct opened *o)
{
	close_model(o);
	*o = open_model(state, "base.gguf");
}

static uint32_t grafts_of(struct model *model)
{
	struct snapshot snapshot;
	uint32_t n;

	assert_int_equal(slots_snapshot(model->slots, &snapshot), 0);
	n = snapshot.grafts;
	snapshot_release(&snapshot);
	return n;
}

static void choice_stays_with_slot_until_taken_back(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char undone[] = "organs/blk_0_ffn_down.bin";

	assert_int_equal(choose(o.model, SMALL_DOWN, GGML_F16), 0);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_BF16), 0);
	assert_int_equal(shown(o.model, SMALL_DOWN), GGML_F16);
	reopen(state, &o);
	assert_int_equal(shown(o.model, SMALL_DOWN), GGML_F16);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_BF16);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_BF16);
	assert_int_equal(choose(o.model, SMALL_UP, TYPE_EDIT_OWN), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F32);
	assert_int_equal(undo(o.model, undone), 0);
	assert_int_equal(shown(o.model, SMALL_DOWN), o.model->gguf->tensors[SMALL_DOWN].type);
	reopen(state, &o);
	assert_int_equal(slots_type(o.model->slots, SMALL_DOWN).is_set, false);
	assert_int_equal(slots_type(o.model->slots, SMALL_UP).is_set, false);
	close_model(&o);
}

static void choice_of_own_type_takes_earlier_choice_back(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(choose(o.model, SMALL_UP, GGML_F16), 0);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_F32), 0);
	assert_false(slots_type(o.model->slots, SMALL_UP).is_set);
	assert_int_equal(grafts_of(o.model), 0);
	close_model(&o);
}

static void removed_slot_keeps_its_choice_and_takes_no_other(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(choose(o.model, SMALL_UP, GGML_F16), 0);
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_BF16), -ENOENT);
	assert_int_equal(graft_link(o.model, SMALL_GATE, o.model, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F16);
	close_model(&o);
}

static void type_of_added_slot_goes_with_it(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	uint32_t slot;

	for (int moves = 0; moves < 2; moves++) {
		assert_int_equal(graft_link(o.model, SMALL_UP, o.model, CLASS_ORGANS,
					    "blk_1_ffn_up"),
				 0);
		assert_true(model_find_slot(o.model, CLASS_ORGANS, "blk_1_ffn_up", 12, &slot));
		assert_int_equal(choose(o.model, slot, GGML_F16), 0);
		if (moves)
			assert_int_equal(graft_move(o.model, slot, CLASS_ORGANS, "blk_2_ffn_up"),
					 0);
		else
			assert_int_equal(graft_remove(o.model, slot), 0);
		assert_false(slots_type(o.model->slots, slot).is_set);
	}
	reopen(state, &o);
	assert_false(log_says(o.log, "left alone"));
	close_model(&o);
}

static void type_without_encoder_or_whole_blocks_is_refused(void **state)
{
	static const struct {
		uint32_t type;
		const char *says;
	} cases[] = { { GGML_IQ2_XXS, "no encoder for IQ2_XXS" },
		      { GGML_IQ3_XXS, "IQ3_XXS needs an importance matrix" },
		      { GGML_I8, "no encoder for I8" },
		      { 9999, "no encoder for type-9999" },
		      { GGML_Q8_0, "not whole blocks of 32, as Q8_0 has them" } };
	struct opened o = open_small(state, "base.gguf");

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(choose(o.model, SMALL_UP, cases[i].type), -EINVAL);
		assert_true(log_says(o.log, cases[i].says));
	}
	assert_int_equal(slots_generation(o.model->slots), 0);
	close_model(&o);
}

static void refused_choice_refuses_all_others_too(void **state)
{
	const struct type_choice choices[] = { { SMALL_DOWN, GGML_F16 },
					       { SMALL_UP, GGML_IQ2_XXS } };
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(type_edit_choose(o.model, choices, 2), -EINVAL);
	assert_int_equal(slots_generation(o.model->slots), 0);
	close_model(&o);
}

static void first_line_that_names_a_tensor_decides(void **state)
{
	static const struct {
		const char *lines;
		uint32_t up, down; /* types */
	} cases[] = {
		{ "organs/blk_0_ffn_up f16", GGML_F16, GGML_Q8_0 },
		{ "organs/blk_0_ffn_up.bin \t F16\r\n", GGML_F16, GGML_Q8_0 },
		{ "# all\n\norgans/*up f16\n * bf16\n", GGML_F16, GGML_BF16 },
		{ "*/blk_?_ffn_[ud]* f16", GGML_F16, GGML_F16 },
		{ "ffn_up=bf16 ffn_.*=f16", GGML_BF16, GGML_F16 },
		{ "blk\\.\\d+\\.ffn_(up|gate)=f16\nno.such=q4_k", GGML_F16, GGML_Q8_0 },
		{ "blk\\.[\\d]\\.ffn_(?:down)=f16", GGML_F32, GGML_F16 },
		/* Tensors with rows of 8 are skipped. */
		{ "organs/* q4_0", GGML_F32, GGML_Q4_0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct opened o = open_small(state, "base.gguf");
		char undone[] = "all";

		assert_int_equal(write_lines(o.model, cases[i].lines), 0);
		if (shown(o.model, SMALL_UP) != cases[i].up ||
		    shown(o.model, SMALL_DOWN) != cases[i].down)
			fail_msg("%s: %u, %u", cases[i].lines, shown(o.model, SMALL_UP),
				 shown(o.model, SMALL_DOWN));
		assert_int_equal(shown(o.model, SMALL_NORM), GGML_F32);
		assert_int_equal(undo(o.model, undone), 0);
		close_model(&o);
	}
}

static void later_pattern_chooses_for_tensor_whose_rows_did_not_fit(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(write_lines(o.model, "organs/*up q4_0\norgans/*up f16"), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F16);
	assert_false(log_says(o.log, "keeps the type"));
	assert_int_equal(write_lines(o.model, "organs/*up q4_0\norgans/*up q4_1"), 0);
	assert_true(log_says(o.log, "1 tensor named by patterns keeps the type"));
	close_model(&o);
}

static void wrong_line_changes_nothing(void **state)
{
	static const struct {
		const char *lines, *says;
	} cases[] = {
		{ "organs/*up f16\norgans/nothing f16", "\"organs/nothing\": there is no" },
		{ "organs/*up q9", "\"q9\": ggml has no such type" },
		{ "organs/*up iq2_xs", "the type has no encoder" },
		{ "organs/blk_0_ffn_up iq2_xs",
		  "\"organs/blk_0_ffn_up\": organfs has no encoder for IQ2_XS" },
		{ "organs/blk_0_ffn_up q8_0", "not whole blocks" },
		{ "organs/*up", "expected CLASS/NAME TYPE or REGEX=TYPE" },
		{ "=f16", "expected CLASS/NAME TYPE or REGEX=TYPE" },
		{ "ffn_up=", "ggml has no such type" },
		{ "a[=f16", "the regular expression is invalid" },
		{ "((u{1,255}){1,255}){1,255}=f16", "the regular expression is invalid" },
		{ "(.*)(.*)\\2\\1=f16", "the regular expression is invalid" },
	};
	struct opened o = open_small(state, "base.gguf");

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char lines[128];

		snprintf(lines, sizeof(lines), "%s", cases[i].lines);
		assert_int_equal(type_edit_judge(o.model, lines), -EINVAL);
		assert_int_equal(write_lines(o.model, cases[i].lines), -EINVAL);
		if (!log_says(o.log, cases[i].says))
			fail_msg("%s: not \"%s\"", cases[i].lines, cases[i].says);
		assert_int_equal(slots_generation(o.model->slots), 0);
	}
	close_model(&o);
}

static void choice_that_is_not_durable_is_not_shown(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(choose(o.model, SMALL_DOWN, GGML_F16), 0);
	database_writes_fail(ENOSPC, NULL);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_F16), -ENOSPC);
	assert_true(database_write_failed());
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F32);
	close_model(&o);
}

static void model_that_is_only_read_keeps_choice_in_memory(void **state)
{
	static const struct model_options written = { 0 }, options = { .read_only = true };
	const struct path layer = in_temp(state, "layer");
	struct opened o;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_null(o.model->layer);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_F16), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F16);
	close_model(&o);
	o = open_at(state, "base.gguf", layer.text, &written);
	assert_int_equal(choose(o.model, SMALL_DOWN, GGML_F16), 0);
	close_model(&o);
	for (int i = 0; i < 2; i++) {
		o = open_at(state, "base.gguf", layer.text, &options);
		assert_int_equal(shown(o.model, SMALL_DOWN), GGML_F16);
		assert_int_equal(choose(o.model, SMALL_DOWN, GGML_BF16), 0);
		assert_int_equal(shown(o.model, SMALL_DOWN), GGML_BF16);
		close_model(&o);
	}
}

static void kept_type_is_that_of_the_base(void **state)
{
	const struct model_options options = { .keep_types = true, .compress = 1 };
	struct opened o;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_int_equal(fill_organ(o.model, SMALL_UP, "blk.0.ffn_up.weight", GGML_F16, 2, small_ne,
				    50),
			 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_F32);
	assert_int_equal(choose(o.model, SMALL_UP, GGML_BF16), 0);
	assert_int_equal(shown(o.model, SMALL_UP), GGML_BF16);
	close_model(&o);
}

static void row_that_is_too_long_to_encode_is_refused(void **state)
{
	const struct organ organ = { .type = GGML_F32,
				     .dims = 1,
				     .ne = { (uint64_t)1 << 28, 1, 1, 1 } };
	struct error err;

	(void)state;
	assert_int_equal(type_edit_check(&organ, GGML_Q8_0, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too long to be encoded"));
}

UNIT_MAIN(temp_setup, temp_teardown)
