/* SPDX-License-Identifier: MIT */
/* test_block_metadata.c - fs/assemble/block_metadata.c: block_count and per-block arrays in the
 * assembled model after blocks are added, removed and moved, and cases that keep them. */
#include "fs/assemble/block_metadata.h"
#include "fs/assemble/model_view.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "gguf/bytes.h"
#include "tests/unit/open_model.h"

static const uint64_t ne[] = { 32, 2 };

/* A model of n blocks with two tensors each; its block_count is count. */
static struct opened open_blocks(void **state, uint32_t n, uint32_t count, uint32_t version)
{
	const uint32_t each[] = { 10, 11, 12, 13, 14, 15 };
	const uint16_t narrow[] = { 20, 21, 22, 23, 24, 25 };
	struct mkgguf *m = mkgguf_new(version);
	struct mk_file file;
	char names[12][32];

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_array(m, "llama.each", KV_U32, n, each, sizeof(each[0]) * n);
	mkgguf_kv_u32(m, "llama.block_count", count);
	mkgguf_kv_array(m, "llama.narrow", KV_U16, n, narrow, sizeof(narrow[0]) * n);
	mkgguf_kv_array(m, "llama.shorter", KV_U32, n - 1, each, sizeof(each[0]) * (n - 1));
	mkgguf_kv_array(m, "other.each", KV_U32, n, each, sizeof(each[0]) * n);
	for (uint32_t b = 0; b < n; b++) {
		snprintf(names[2 * b], sizeof(names[0]), "blk.%u.ffn_up.weight", b);
		snprintf(names[2 * b + 1], sizeof(names[0]), "blk.%u.ffn_down.weight", b);
		mkgguf_tensor(m, names[2 * b], GGML_F32, 2, ne);
		mkgguf_tensor(m, names[2 * b + 1], GGML_F32, 2, ne);
	}
	mkgguf_tensor(m, "output.weight", GGML_F32, 2, ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "base.gguf");
}

static int assembled(struct model *model, struct gguf **gguf, char **bytes, struct error *err)
{
	struct snapshot snapshot;
	struct memory_bytes memory;
	struct source source;
	struct view *view;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	view = model_view(model, &snapshot, true, err);
	snapshot_release(&snapshot);
	if (!view)
		return -err->code;
	*bytes = read_view(view);
	memory = (struct memory_bytes){ (const uint8_t *)*bytes, view_size(view) };
	source = source_of_memory(&memory);
	*gguf = gguf_read(&source, NULL);
	assert_non_null(*gguf);
	view_unref(view);
	return 0;
}

/* Drop the layer, so that the next model does not find the grafts. */
static void model_drop(struct opened *o)
{
	assert_int_equal(layer_delete(o->model->layer), 0);
	close_model(o);
}

/* Describe block_count and the four arrays, as "2: 10,11 20,21 10 10,11". */
static void describe(struct model *model, char text[200])
{
	static const char *const keys[] = { "llama.each", "llama.narrow", "llama.shorter",
					    "other.each" };
	struct error err = { 0 };
	struct gguf *gguf;
	uint64_t count;
	char *bytes;
	int n;

	if (assembled(model, &gguf, &bytes, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(kv_unsigned(gguf_find(gguf, "llama.block_count"), &count));
	n = sprintf(text, "%u:", (unsigned)count);
	for (size_t k = 0; k < ARRAY_LENGTH(keys); k++) {
		const struct kv *kv = gguf_find(gguf, keys[k]);
		const uint32_t width = kv_type_size(kv->element);

		for (uint64_t i = 0; i < kv->count; i++)
			n += sprintf(text + n, "%c%u", i ? ',' : ' ',
				     width == 4 ? load_u32(bytes + kv->offset + 4 * i)
						: load_u16(bytes + kv->offset + 2 * i));
	}
	gguf_free(gguf);
	free(bytes);
}

#define assert_told(model, expected)                 \
	do {                                         \
		char text[200];                      \
		describe(model, text);               \
		assert_string_equal(text, expected); \
	} while (0)

static uint32_t slot(struct model *model, const char *name)
{
	uint32_t tensor;

	if (!model_find_slot(model, CLASS_ORGANS, name, strlen(name), &tensor))
		fail_msg("no %s", name);
	return tensor;
}

static int link_within(struct model *model, uint32_t tensor, enum organ_class klass,
		       const char *name)
{
	return graft_link(model, tensor, model, klass, name);
}

/* Apply an edit to both tensors of a block. */
static void each_of(struct model *model, int from, int to,
		    int (*act)(struct model *, uint32_t, enum organ_class, const char *))
{
	static const char *const roles[] = { "ffn_up", "ffn_down" };

	for (size_t i = 0; i < ARRAY_LENGTH(roles); i++) {
		char name[40], new_name[40];

		snprintf(name, sizeof(name), "blk_%d_%s", from, roles[i]);
		snprintf(new_name, sizeof(new_name), "blk_%d_%s", to, roles[i]);
		if (act)
			assert_int_equal(act(model, slot(model, name), CLASS_ORGANS, new_name), 0);
		else
			assert_int_equal(graft_remove(model, slot(model, name)), 0);
	}
}

static void merge(struct model *model, const char *text)
{
	struct model *models[] = { model };
	const struct merge_request request = {
		.text = text, .size = strlen(text), .models = models, .n_models = 1
	};

	assert_int_equal(merge_edit_write(model, &request), 0);
}

#define PART(from, to) "- sources: [{model: base, layer_range: [" #from ", " #to "]}]\n"

static void blocks_of_slices_keep_entries_of_their_original_blocks(void **state)
{
	struct opened o = open_blocks(state, 4, 4, 3);

	merge(o.model, "merge_method: passthrough\nslices:\n" PART(2, 4) PART(0, 2));
	assert_told(o.model, "4: 12,13,10,11 22,23,20,21 10,11,12 10,11,12,13");
	merge(o.model, "merge_method: linear\nparameters: {weight: 1}\nslices:\n" PART(0, 2)
			       PART(1, 2) PART(1, 4));
	assert_told(o.model, "6: 10,11,11,11,12,13 20,21,21,21,22,23 10,11,12 10,11,12,13");
	merge(o.model, "merge_method: passthrough\nslices:\n" PART(3, 4));
	assert_told(o.model, "1: 13 23 10,11,12 10,11,12,13");
	model_drop(&o);
}

static void unchanged_blocks_keep_metadata(void **state)
{
	for (uint32_t version = 1; version <= 3; version++) {
		struct opened o = open_blocks(state, 3, 3, version);

		assert_told(o.model, "3: 10,11,12 20,21,22 10,11 10,11,12");
		close_model(&o);
	}
}

static void added_block_has_entries_of_its_original_block(void **state)
{
	for (uint32_t version = 1; version <= 3; version++) {
		struct opened o = open_blocks(state, 3, 3, version);

		each_of(o.model, 1, 3, link_within);
		assert_told(o.model, "4: 10,11,12,11 20,21,22,21 10,11 10,11,12");
		each_of(o.model, 3, 4, link_within);
		assert_told(o.model, "5: 10,11,12,11,11 20,21,22,21,21 10,11 10,11,12");
		model_drop(&o);
	}
}

/* Check the text of a key in metadata, without its newline. */
static void assert_shown(struct model *model, const char *file, const char *text)
{
	struct metadata_entry *metadatum;
	struct view *view;
	char *shown;
	uint32_t i;
	int rc;

	block_metadata_show(model);
	assert_true(metadata_find(model->metadata, file, &i));
	metadatum = metadata_get(model->metadata, i, &rc);
	assert_non_null(metadatum);
	view = metadata_entry_view(metadatum, &rc);
	assert_non_null(view);
	shown = read_view(view);
	assert_int_equal(strncmp(shown, text, strlen(text)), 0);
	assert_string_equal(shown + strlen(text), "\n");
	free(shown);
	view_unref(view);
	metadata_entry_unref(metadatum);
}

static uint64_t ino_shown(struct model *model, const char *file)
{
	struct metadata_entry *metadatum;
	uint64_t ino;
	uint32_t i;
	int rc;

	block_metadata_show(model);
	must(metadata_find(model->metadata, file, &i));
	metadatum = metadata_get(model->metadata, i, &rc);
	must(metadatum);
	ino = metadata_entry_ino(metadatum);
	metadata_entry_unref(metadatum);
	return ino;
}

static void metadata_shows_derived_values(void **state)
{
	struct opened o = open_blocks(state, 3, 3, 3);
	uint64_t ino;

	assert_shown(o.model, "llama.block_count", "3");
	assert_int_equal(ino_shown(o.model, "llama.block_count"), 0);
	each_of(o.model, 1, 3, link_within);
	assert_shown(o.model, "llama.block_count", "4");
	assert_shown(o.model, "llama.each", "[10, 11, 12, 11]");
	assert_shown(o.model, "other.each", "[10, 11, 12]");
	ino = ino_shown(o.model, "llama.block_count");
	assert_int_not_equal(ino, 0);
	/* An unchanged value keeps its inode, another value gets another one. */
	assert_int_equal(graft_link(o.model, slot(o.model, "blk_0_ffn_up"), o.model, CLASS_ORGANS,
				    "blk_2_ffn_up"),
			 0);
	assert_int_equal(ino_shown(o.model, "llama.block_count"), ino);
	each_of(o.model, 3, 0, NULL);
	assert_int_equal(ino_shown(o.model, "llama.block_count"), 0);
	assert_shown(o.model, "llama.block_count", "3");
	/* A gap makes the count unknown. */
	each_of(o.model, 1, 0, NULL);
	assert_shown(o.model, "llama.block_count", "3");
	model_drop(&o);
}

static void removed_block_loses_its_entries(void **state)
{
	struct opened o = open_blocks(state, 4, 4, 3);

	each_of(o.model, 1, 0, NULL);
	each_of(o.model, 2, 1, graft_move);
	each_of(o.model, 3, 2, graft_move);
	assert_told(o.model, "3: 10,12,13 20,22,23 10,11,12 10,11,12,13");
	model_drop(&o);
	o = open_blocks(state, 4, 4, 3);
	each_of(o.model, 3, 0, NULL);
	assert_told(o.model, "3: 10,11,12 20,21,22 10,11,12 10,11,12,13");
	model_drop(&o);
}

static void gap_is_refused_and_missing_blocks_are_named(void **state)
{
	struct opened o = open_blocks(state, 5, 5, 3);
	struct error err = { 0 };
	struct gguf *gguf;
	char *bytes;

	each_of(o.model, 1, 0, NULL);
	each_of(o.model, 3, 0, NULL);
	assert_int_equal(assembled(o.model, &gguf, &bytes, &err), -EINVAL);
	assert_non_null(strstr(err.text, "missing: 1, 3"));
	o.model->follow = false;
	assert_told(o.model, "5: 10,11,12,13,14 20,21,22,23,24 10,11,12,13 10,11,12,13,14");
	model_drop(&o);
}

/* A single organ from another block does not change the block's entries. */
static void block_with_one_foreign_organ_keeps_its_entries(void **state)
{
	struct opened o = open_blocks(state, 3, 3, 3);

	assert_int_equal(graft_link(o.model, slot(o.model, "blk_2_ffn_up"), o.model, CLASS_ORGANS,
				    "blk_0_ffn_up"),
			 0);
	assert_told(o.model, "3: 10,11,12 20,21,22 10,11 10,11,12");
	model_drop(&o);
}

static void base_with_wrong_block_count_keeps_metadata(void **state)
{
	struct opened o = open_blocks(state, 3, 4, 3);

	each_of(o.model, 1, 3, link_within);
	assert_told(o.model, "4: 10,11,12 20,21,22 10,11 10,11,12");
	model_drop(&o);
	o = open_blocks(state, 3, 2, 3);
	each_of(o.model, 2, 0, NULL);
	assert_told(o.model, "2: 10,11,12 20,21,22 10,11 10,11,12");
	model_drop(&o);
}

static void edit(struct model *model, const char *name, const char *text)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);

	must(stage);
	view_unref(empty);
	assert_int_equal(stage_write(stage, text, strlen(text), 0), 0);
	assert_int_equal(metadata_edit_fill(model, name, stage), 0);
	stage_free(stage);
}

static void edited_key_keeps_its_value(void **state)
{
	struct opened o = open_blocks(state, 3, 3, 3);

	edit(o.model, "llama.each", "[1, 2, 3]");
	each_of(o.model, 1, 3, link_within);
	assert_told(o.model, "4: 1,2,3 20,21,22,21 10,11 10,11,12");
	edit(o.model, "llama.block_count", "9");
	assert_told(o.model, "9: 1,2,3 20,21,22,21 10,11 10,11,12");
	edit(o.model, "llama.each", "[10, 11, 12]");
	edit(o.model, "llama.block_count", "3");
	assert_told(o.model, "4: 10,11,12,11 20,21,22,21 10,11 10,11,12");
	model_drop(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
