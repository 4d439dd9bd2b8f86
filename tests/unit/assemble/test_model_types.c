/* SPDX-License-Identifier: MIT */
/* test_model_types.c - fs/assemble/model_types.c: general.file_type follows the type of most
 * matrices of a model. */
#include "fs/assemble/model_types.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/type_edit.h"
#include "fs/metadata/metadata.h"
#include "fs/model/slots.h"
#include "gguf/bytes.h"
#include "gguf/file_type.h"
#include "gguf/layout.h"
#include "tests/unit/open_model.h"

enum { EMBED, NORM, UP, DOWN };

static const uint64_t ne[] = { 32, 2 };

static struct opened open_typed(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, FILE_TYPE_KEY, 2);
	mkgguf_kv_u32(m, "llama.block_count", 1);
	mkgguf_tensor(m, "token_embd.weight", GGML_Q8_0, 2, ne);
	mkgguf_tensor(m, "blk.0.ffn_norm.weight", GGML_F32, 1, ne);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_Q4_0, 2, ne);
	mkgguf_tensor(m, "blk.0.ffn_down.weight", GGML_Q4_0, 2, ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "base.gguf");
}

static void choose(struct model *model, uint32_t slot, uint32_t type)
{
	assert_int_equal(type_edit_choose(model, &(struct type_choice){ slot, type }, 1), 0);
}

/* The file type that model_types_follow() sets, or -1. */
static int64_t following(struct model *model)
{
	struct layout_value value;
	struct layout_values follow = { .values = &value };
	struct snapshot snapshot;
	int64_t number = -1;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	assert_int_equal(model_types_follow(model, &snapshot, &follow), 0);
	if (follow.n) {
		assert_int_equal(follow.n, 1);
		assert_int_equal(follow.values[0].length, 4);
		number = load_u32(follow.values[0].bytes);
		free((void *)follow.values[0].bytes);
	}
	snapshot_release(&snapshot);
	return number;
}

static void number_follows_the_type_of_most_matrices(void **state)
{
	struct opened o = open_typed(state);

	assert_int_equal(following(o.model), -1);
	choose(o.model, EMBED, GGML_F16);
	choose(o.model, NORM, GGML_F16);
	assert_int_equal(following(o.model), -1);
	choose(o.model, UP, GGML_Q5_0);
	assert_int_equal(following(o.model), -1);
	choose(o.model, DOWN, GGML_Q5_0);
	assert_int_equal(following(o.model), 8);
	assert_int_equal(graft_remove(o.model, DOWN), 0);
	assert_int_equal(following(o.model), 8);
	close_model(&o);
}

static void file_type_written_by_user_stays(void **state)
{
	struct opened o = open_typed(state);
	uint32_t key;

	choose(o.model, UP, GGML_Q5_0);
	choose(o.model, DOWN, GGML_Q5_0);
	assert_true(metadata_find(o.model->metadata, FILE_TYPE_KEY, &key));
	assert_int_equal(metadata_edit_remove(o.model, key), 0);
	assert_int_equal(following(o.model), -1);
	close_model(&o);
}

static void most_frequent_type_is_shown_for_base_and_current_model(void **state)
{
	struct opened o = open_typed(state);
	struct snapshot snapshot;
	struct model_types types;

	choose(o.model, UP, GGML_F16);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	types = model_types_find(o.model, &snapshot);
	snapshot_release(&snapshot);
	assert_false(types.agree);
	assert_int_equal(types.of_base, GGML_Q4_0);
	assert_int_equal(types.most, GGML_F16);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
