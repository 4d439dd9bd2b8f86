/* SPDX-License-Identifier: MIT */
/* test_grafts_list.c - fs/files/grafts_list.c: one line for each graft, for any name. */
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/type_edit.h"
#include "fs/edit/undo.h"
#include "fs/files/grafts_list.h"
#include "fs/files/types_list.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

static char *grafts_of(struct model *model)
{
	struct snapshot snapshot;
	struct view *view;
	char *text;

	assert_int_equal(slots_snapshot(model->slots, &snapshot), 0);
	view = grafts_list_view(model, &snapshot);
	snapshot_release(&snapshot);
	assert_non_null(view);
	text = read_view(view);
	assert_int_equal(strlen(text), view_size(view));
	view_unref(view);
	return text;
}

static void without_grafts_there_is_no_line(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char *text = grafts_of(o.model);

	assert_string_equal(text, "");
	free(text);
	close_model(&o);
}

/* Fill the slot with an organ whose time is 2009-02-13T23:31:30Z. */
static void fill_then(struct model *model, uint32_t tensor, const struct organ_file *organ)
{
	const struct timespec then = { 1234567890, 0 };
	struct stage *stage = stage_over(model, tensor);

	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, organ->bytes, organ->size, 0), 0);
	stage_set_mtime(stage, &then);
	assert_int_equal(graft_fill(model, tensor, stage), 0);
	stage_free(stage);
}

static void a_line_has_its_fields_and_lines_are_in_file_order(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file down = mk_organ("donor.down", GGML_F32, 2, small_blocks, 50);
	struct organ_file up = mk_organ("blk.0.ffn_up.weight", GGML_F16, 2, small_ne, 51);
	char *text;

	fill_then(o.model, SMALL_DOWN, &down);
	fill_then(o.model, SMALL_UP, &up);
	text = grafts_of(o.model);
	assert_string_equal(text, "organs/blk_0_ffn_up.bin\tcopy\tF16\t8x4\t64\t"
				  "blk.0.ffn_up.weight\t2009-02-13T23:31:30Z\t-\t-\n"
				  "organs/blk_0_ffn_down.bin\tcopy\tF32\t32x2\t256\t"
				  "donor.down\t2009-02-13T23:31:30Z\t-\t-\n");
	free(text);
	free(down.bytes);
	free(up.bytes);
	close_model(&o);
}

static void remove_key(struct model *model, const char *name)
{
	uint32_t i;

	assert_true(metadata_find(model->metadata, name, &i));
	assert_int_equal(metadata_edit_remove(model, i), 0);
}

static void undo_has_a_line_for_each_key(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct snapshot snapshot;
	struct view *view;
	char *text;

	remove_key(o.model, "general.architecture");
	remove_key(o.model, "llama.block_count");
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	view = grafts_list_undo(o.model, &snapshot);
	assert_non_null(view);
	text = read_view(view);
	assert_string_equal(
		text, "# write one of these words here to undo its changes; several lines are "
		      "one step\n# all\t2 changes\n# metadata\t2 changes\n"
		      "# metadata/general.architecture\tremoved\n"
		      "# metadata/llama.block_count\tremoved\n");
	free(text);
	view_unref(view);
	snapshot_release(&snapshot);
	close_model(&o);
}

static void any_name_stays_in_its_field(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = mk_organ("a\tb\nc %d\xff\x7f~", GGML_F32, 2, small_ne, 50);
	char *text;

	fill_then(o.model, SMALL_UP, &up);
	text = grafts_of(o.model);
	assert_string_equal(text, "organs/blk_0_ffn_up.bin\tcopy\tF32\t8x4\t128\t"
				  "a%09b%0Ac%20%25d%FF%7F~\t2009-02-13T23:31:30Z\t-\t-\n");
	free(text);
	free(up.bytes);
	close_model(&o);
}

static void a_name_with_a_nul_is_written_whole(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = mk_organ("aXb", GGML_F32, 2, small_ne, 50);
	char *text;

	up.bytes[5] = '\0';
	fill_then(o.model, SMALL_UP, &up);
	text = grafts_of(o.model);
	assert_non_null(strstr(text, "\ta%00b\t"));
	free(text);
	free(up.bytes);
	close_model(&o);
}

static void a_line_says_where_the_graft_came_from(void **state)
{
	struct opened o = open_small(state, "a base.gguf");
	char *text;

	assert_int_equal(graft_link(o.model, SMALL_GATE, o.model, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	text = grafts_of(o.model);
	assert_non_null(strstr(text, "Z\t/"));
	assert_non_null(strstr(text, "/a%20base.gguf\tblk.0.ffn_gate.weight\n"));
	free(text);
	close_model(&o);
}

static void list_of_types_chooses_them_where_it_is_written_back(void **state)
{
	const struct type_choice choices[] = { { SMALL_UP, GGML_F16 }, { SMALL_DOWN, GGML_Q4_0 } };
	struct opened o = open_small(state, "base.gguf");
	struct snapshot snapshot;
	struct view *view;
	char *text, all[] = "all";

	assert_int_equal(type_edit_choose(o.model, choices, 2), 0);
	assert_int_equal(graft_remove(o.model, SMALL_GATE), 0);
	assert_int_equal(slots_snapshot(o.model->slots, &snapshot), 0);
	view = types_list_view(o.model, &snapshot);
	snapshot_release(&snapshot);
	assert_non_null(view);
	text = read_view(view);
	assert_string_equal(text, "embed/token_embd.bin F32\n"
				  "skeleton/blk_0_attn_q.bin F32\n"
				  "organs/blk_0_ffn_up.bin F16\n"
				  "norm/blk_0_ffn_norm.bin F32\n"
				  "organs/blk_0_ffn_down.bin Q4_0\n");
	assert_int_equal(undo(o.model, all), 0);
	assert_int_equal(type_edit_write(o.model, TYPE_EDIT_FILE, text), 0);
	assert_int_equal(slots_type(o.model->slots, SMALL_UP).type, GGML_F16);
	assert_int_equal(slots_type(o.model->slots, SMALL_DOWN).type, GGML_Q4_0);
	assert_false(slots_type(o.model->slots, SMALL_Q).is_set);
	free(text);
	view_unref(view);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
