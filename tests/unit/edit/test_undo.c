/* SPDX-License-Identifier: MIT */
/* test_undo.c - fs/edit/undo.c: undo of changes by words, all or none. */
#include "fs/edit/metadata_edit.h"
#include "fs/edit/undo.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_model.h"

#include <unistd.h>

static int say(struct model *model, const char *text)
{
	char words[512];

	snprintf(words, sizeof(words), "%s", text);
	return undo(model, words);
}

static uint32_t grafts(struct model *model)
{
	struct snapshot snapshot;
	uint32_t n;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	n = snapshot.grafts;
	snapshot_release(&snapshot);
	return n;
}

static uint32_t key(struct model *model)
{
	uint32_t i;

	assert_true(metadata_find(model->metadata, "llama.block_count", &i));
	return i;
}

/* A model with three changed slots, one of them added, and a removed key. */
static struct opened open_changed(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill_up(o.model, 50), 0);
	assert_int_equal(graft_remove(o.model, SMALL_NORM), 0);
	assert_int_equal(graft_link(o.model, SMALL_UP, o.model, CLASS_ORGANS, "blk_7_ffn_up"), 0);
	assert_int_equal(metadata_edit_remove(o.model, key(o.model)), 0);
	assert_int_equal(grafts(o.model), 4);
	return o;
}

/* Open the model again, as at the next mount. */
static void reopen(void **state, struct opened *o)
{
	close_model(o);
	*o = open_model(state, "base.gguf");
}

static void slot_named_twice_is_one_change(void **state)
{
	static const struct {
		const char *words, *says;
	} cases[] = { { "organs/blk_0_ffn_up.bin\nblk_0_ffn_up\n", ".undo: 1 change is undone" },
		      { "blk_0_ffn_up\norgans\norgans", ".undo: 2 changes are undone" },
		      { "blk_7_ffn_up\nall\nmetadata\nmetadata/llama.block_count",
			".undo: 4 changes are undone" },
		      { "blk_0_ffn_up\nblk_7_ffn_up\nall", ".undo: 4 changes are undone" } };

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct opened o = open_changed(state);

		assert_int_equal(say(o.model, cases[i].words), 0);
		if (!log_says(o.log, cases[i].says))
			fail_msg("%s: not \"%s\"", cases[i].words, cases[i].says);
		assert_int_equal(say(o.model, "all"), 0);
		close_model(&o);
	}
}

static void word_undoes_the_change_it_names(void **state)
{
	static const struct {
		const char *words;
		uint32_t left;
	} cases[] = { { "all", 0 },
		      { "organs", 2 },
		      { "organs/", 2 },
		      { "metadata", 3 },
		      { "embed", 4 },
		      { "adapters", 4 },
		      { "organs/blk_0_ffn_up.bin", 3 },
		      { "blk_0_ffn_up.bin", 3 },
		      { "blk_0_ffn_up  \r", 3 },
		      { "organs/blk_0_ffn_gate.bin", 4 },
		      { "organs/blk_7_ffn_up.bin\tcopy\tx", 3 },
		      { "metadata/llama.block_count\n", 3 },
		      { "\n\norgans\nmetadata\nnorm", 0 },
		      { "all\nall\nblk_7_ffn_up\nblk_7_ffn_up", 0 },
		      { "", 4 } };

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct opened o = open_changed(state);

		assert_int_equal(say(o.model, cases[i].words), 0);
		if (grafts(o.model) != cases[i].left)
			fail_msg("%s leaves %u", cases[i].words, grafts(o.model));
		reopen(state, &o);
		assert_int_equal(grafts(o.model), cases[i].left);
		assert_int_equal(say(o.model, "all"), 0);
		assert_int_equal(grafts(o.model), 0);
		close_model(&o);
	}
}

static void judging_words_changes_nothing(void **state)
{
	struct opened o = open_changed(state);
	const uint64_t generation = model_generation(o.model);
	char right[] = "all\norgans\n\nblk_0_ffn_up\tcopy\n", wrong[] = "organs\nnothing\n";

	assert_int_equal(undo_judge(o.model, right), 0);
	assert_int_equal(undo_judge(o.model, wrong), -EINVAL);
	assert_true(log_says(o.log, ".undo: refused: \"nothing\""));
	assert_int_equal(model_generation(o.model), generation);
	close_model(&o);
}

static void a_wrong_word_undoes_nothing(void **state)
{
	static const char *const wrong[] = { "nothing",
					     "organs/nothing.bin",
					     "organs/blk_0_ffn_up",
					     "organs/.bin",
					     "norm/blk_0_ffn_up.bin",
					     "metadata/no.key",
					     "metadata/",
					     "adapters/a.gguf",
					     "adapters/lora",
					     "adapters/lora.scale",
					     "/",
					     "//",
					     "other/x.bin",
					     "ALL",
					     " all" };
	struct opened o = open_changed(state);
	char words[128];

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		snprintf(words, sizeof(words), "all\n%s\n", wrong[i]);
		if (strcmp(wrong[i], "metadata/") != 0 && say(o.model, words) != -EINVAL)
			fail_msg("\"%s\" is obeyed", wrong[i]);
		assert_int_equal(grafts(o.model), 4);
	}
	assert_true(log_says(o.log, ".undo: refused: \"nothing\" is neither a word"));
	close_model(&o);
}

static void open_view_keeps_bytes_after_undo(void **state)
{
	struct opened o = open_changed(state);
	struct content *content = slots_get(o.model->slots, SMALL_UP);
	struct view *view = organ_file_view(o.model, SMALL_UP, content);
	char *before = read_view(view), *after;

	assert_int_equal(say(o.model, "all"), 0);
	after = read_view(view);
	assert_memory_equal(before, after, (size_t)view_size(view));
	free(before);
	free(after);
	view_unref(view);
	content_unref(content);
	close_model(&o);
}

/* If any allocation or write fails, all of the undo is in force, or none. */
static void a_failure_undoes_all_or_nothing(void **state)
{
	struct opened o = open_changed(state);
	bool failed = true;
	int rc;

	needs_failing_allocations();
	for (uint64_t k = 1; failed; k++) {
		allocation_fails(k);
		rc = say(o.model, "all");
		failed = allocation_failed();
		assert_int_equal(grafts(o.model), rc == 0 ? 0 : 4);
		if (rc == 0)
			break;
	}
	close_model(&o);
	o = open_changed(state);
	database_writes_fail(EIO, NULL);
	assert_int_equal(say(o.model, "all"), -EIO);
	assert_true(database_write_failed());
	assert_int_equal(grafts(o.model), 4);
	reopen(state, &o);
	assert_int_equal(grafts(o.model), 4);
	assert_int_equal(say(o.model, "all"), 0);
	assert_int_equal(grafts(o.model), 0);
	assert_int_equal(fill_up(o.model, 51), 0);
	reopen(state, &o);
	assert_int_equal(grafts(o.model), 1);
	assert_int_equal(say(o.model, "all"), 0);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
