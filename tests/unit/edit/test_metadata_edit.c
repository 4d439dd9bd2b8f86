/* SPDX-License-Identifier: MIT */
/* test_metadata_edit.c - fs/edit/metadata_edit.c, fs/metadata/metadata.c and
 * fs/metadata/metadata_entry.c: values written, refused, removed, moved and retyped, in a model
 * and at the next mount. */
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/metadata/value_parse.h"
#include "fs/model/inode.h"
#include "gguf/layout.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"
#include "tests/unit/tasks.h"

/* Keys: name (string), count (u32), list (array of u16), general.alignment. */
static struct opened open_keys(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	const uint16_t list[] = { 1, 2, 3 };
	struct mk_file file;

	mkgguf_kv_string(m, "name", "old");
	mkgguf_kv_u32(m, "count", 5);
	mkgguf_kv_array(m, "list", KV_U16, 3, list, sizeof(list));
	mkgguf_alignment(m, 32);
	mkgguf_tensor(m, "output.weight", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "base.gguf");
}

/* Open the model again, as after a killed mount. */
static void reopen(void **state, struct opened *o)
{
	close_model(o);
	*o = open_model(state, "base.gguf");
}

static struct stage *stage_of(struct model *model, const char *text)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);

	must(stage);
	view_unref(empty);
	assert_int_equal(stage_write(stage, text, strlen(text), 0), 0);
	return stage;
}

static int put_typed(struct model *model, const char *name, const char *text, enum stage_type how,
		     struct value_type type)
{
	struct stage *stage = stage_of(model, text);
	int rc;

	stage_set_type(stage, how, type);
	rc = metadata_edit_fill(model, name, stage);
	stage_free(stage);
	return rc;
}

static int put(struct model *model, const char *name, const char *text)
{
	return put_typed(model, name, text, STAGE_UNTYPED, (struct value_type){ 0 });
}

static uint32_t number(struct model *model, const char *name)
{
	uint32_t i;

	if (!metadata_find(model->metadata, name, &i))
		fail_msg("no key %s", name);
	return i;
}

/* Type and value of a key, such as "uint32 5\n"; "" without such a key. */
static const char *now(struct model *model, const char *name)
{
	static char text[1000];
	char type[VALUE_TYPE_TEXT];
	struct metadata_entry *metadatum;
	struct view *view;
	uint64_t size;
	size_t n;
	int rc;

	metadatum = metadata_get(model->metadata, number(model, name), &rc);
	if (!metadatum) {
		assert_int_equal(rc, -ENOENT);
		return "";
	}
	n = (size_t)sprintf(text, "%s ",
			    value_type_text(metadata_entry_value(metadatum)->type, type));
	view = metadata_entry_view(metadatum, &rc);
	must(view);
	assert_int_equal(metadata_entry_size(metadatum, &size), 0);
	assert_int_equal(size, view_size(view));
	must(view_read(view, text + n, sizeof(text) - n - 1, 0) == (ssize_t)size);
	text[n + size] = '\0';
	view_unref(view);
	metadata_entry_unref(metadatum);
	return text;
}

static uint32_t edits_of(struct model *model)
{
	struct metadata_edits *edits = metadata_edits_get(model->metadata);
	uint32_t n;

	must(edits);
	n = edits->n;
	metadata_edits_unref(edits);
	return n;
}

static void a_value_is_written_and_found_again(void **state)
{
	struct opened o = open_keys(state);
	const uint64_t generation = model_generation(o.model);

	assert_string_equal(now(o.model, "count"), "uint32 5\n");
	assert_int_equal(put(o.model, "count", "6\n"), 0);
	assert_int_equal(put(o.model, "name", "new"), 0);
	assert_int_equal(put(o.model, "list", " [4,\n5] "), 0);
	assert_int_equal(model_generation(o.model), generation + 3);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(now(o.model, "count"), "uint32 6\n");
		assert_string_equal(now(o.model, "name"), "string new\n");
		assert_string_equal(now(o.model, "list"), "array of uint16 [4, 5]\n");
		assert_int_equal(edits_of(o.model), 3);
		reopen(state, &o);
	}
	close_model(&o);
}

/* A value read from the base is cached after its first use, a written one always. */
static void judging_a_value_changes_nothing(void **state)
{
	const struct value_type number = { KV_U32, 0 };
	struct opened o = open_keys(state);
	uint32_t i;

	assert_true(metadata_find(o.model->metadata, "count", &i));
	assert_int_equal(metadata_edit_judge(o.model, i, number, "6\n", 2), 0);
	assert_int_equal(metadata_edit_judge(o.model, i, number, "six\n", 4), -EINVAL);
	assert_true(log_says(o.log, "metadata/count: refused: not of type uint32"));
	assert_string_equal(now(o.model, "count"), "uint32 5\n");
	assert_int_equal(edits_of(o.model), 0);
	close_model(&o);
}

static void size_is_known_after_first_request(void **state)
{
	struct opened o = open_keys(state);
	struct metadata_entry *metadatum;
	uint64_t size;
	int rc;

	for (int i = 0; i < 2; i++) {
		metadatum = metadata_get(o.model->metadata, number(o.model, "name"), &rc);
		must(metadatum);
		assert_int_equal(metadata_entry_is_size_known(metadatum), i);
		assert_int_equal(metadata_entry_size(metadatum, &size), 0);
		assert_true(metadata_entry_is_size_known(metadatum));
		metadata_entry_unref(metadatum);
		assert_int_equal(put(o.model, "name", "new"), 0);
	}
	close_model(&o);
}

static void text_that_is_no_value_changes_nothing(void **state)
{
	static const char *const texts[][2] = { { "count", "" },      { "count", "six" },
						{ "count", "-1" },    { "count", "4294967296" },
						{ "list", "4, 5" },   { "list", "[65536]" },
						{ "list", "[\"4\"]" } };
	struct opened o = open_keys(state);
	const uint64_t generation = model_generation(o.model);

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		assert_int_equal(put(o.model, texts[i][0], texts[i][1]), -EINVAL);
		assert_true(log_says(o.log, "refused: not of type "));
	}
	assert_int_equal(put(o.model, "general.alignment", "64"), -EPERM);
	assert_int_equal(put(o.model, "split.count", "2"), -EPERM);
	assert_int_equal(put(o.model, "name~", "x"), -EINVAL);
	assert_int_equal(model_generation(o.model), generation);
	assert_int_equal(edits_of(o.model), 0);
	close_model(&o);
}

static void value_of_the_base_is_no_edit(void **state)
{
	struct opened o = open_keys(state);

	assert_int_equal(put(o.model, "count", "6"), 0);
	assert_int_equal(put(o.model, "list", "[]"), 0);
	assert_int_equal(put(o.model, "name", ""), 0);
	assert_int_equal(edits_of(o.model), 3);
	assert_int_equal(put(o.model, "count", "05\n"), 0);
	assert_int_equal(put(o.model, "list", "[1,2,3]"), 0);
	assert_int_equal(put(o.model, "name", "old\n"), 0);
	assert_int_equal(edits_of(o.model), 0);
	assert_false(metadata_key(o.model->metadata, number(o.model, "count")).edited);
	/* A change of the type alone, with the same bytes, is a change. */
	assert_int_equal(metadata_edit_set_type(o.model, number(o.model, "count"),
						(struct value_type){ KV_I32, 0 }),
			 0);
	assert_int_equal(edits_of(o.model), 1);
	reopen(state, &o);
	assert_string_equal(now(o.model, "count"), "int32 5\n");
	assert_int_equal(edits_of(o.model), 1);
	close_model(&o);
}

/* Set key i aside with the value of key was. */
static int set_aside(struct model *model, uint32_t i, uint32_t was)
{
	bool moved_on;
	int rc;
	struct metadata_entry *value = metadata_get(model->metadata, was, &rc);

	assert_non_null(value);
	rc = metadata_edit_remove_if(model, i, value, &moved_on);
	assert_int_equal(moved_on, rc == -ESTALE);
	metadata_entry_unref(value);
	return rc;
}

static void keys_go_and_come_back_with_their_types(void **state)
{
	static const struct value_type i8 = { KV_I8, 0 };
	struct opened o = open_keys(state);
	uint32_t i = number(o.model, "count");

	assert_int_equal(metadata_edit_remove(o.model, i), 0);
	assert_int_equal(metadata_edit_remove(o.model, i), -ENOENT);
	assert_string_equal(now(o.model, "count"), "");
	reopen(state, &o);
	assert_string_equal(now(o.model, "count"), "");
	assert_int_equal(put(o.model, "count", "7"), 0);
	assert_string_equal(now(o.model, "count"), "uint32 7\n");
	/* A renamed key keeps its own type, a removed one has the base's. */
	assert_int_equal(metadata_edit_set_type(o.model, i, i8), 0);
	assert_int_equal(put(o.model, "name", "x"), 0);
	assert_int_equal(set_aside(o.model, i, number(o.model, "name")), -ESTALE);
	assert_string_equal(now(o.model, "count"), "int8 7\n");
	assert_int_equal(put(o.model, "name", "old"), 0);
	assert_int_equal(set_aside(o.model, i, i), 0);
	assert_int_equal(put(o.model, "count", "300"), -EINVAL);
	assert_int_equal(put(o.model, "count", "-7"), 0);
	assert_string_equal(now(o.model, "count"), "int8 -7\n");
	assert_int_equal(metadata_edit_remove(o.model, i), 0);
	assert_int_equal(put(o.model, "count", "5"), 0);
	assert_int_equal(edits_of(o.model), 0);
	assert_int_equal(metadata_edit_remove(o.model, number(o.model, "general.alignment")),
			 -EPERM);
	assert_string_equal(now(o.model, "general.alignment"), "uint32 32\n");
	close_model(&o);
}

static void *put_nine(void *argument)
{
	struct model *model = argument;

	return put(model, "count", "9") == 0 ? model : NULL;
}

static void a_type_that_changes_while_a_value_waits_is_that_of_the_value(void **state)
{
	static const struct value_type u64 = { KV_U64, 0 };
	const struct timespec time = { .tv_sec = 1 };
	struct value_bytes bytes = { calloc(1, 8), 8, 1 };
	struct opened o = open_keys(state);
	struct task task;

	/* The writer has parsed the text, and waits. */
	journal_begin(o.model);
	task_begin(&task, put_nine, o.model);
	assert_true(task_sleeps(&task));
	metadata_set(o.model->metadata, number(o.model, "count"),
		     metadata_entry_new(inode_new(o.model), u64, 8, &bytes, &time));
	journal_end(o.model);
	assert_non_null(task_end(&task));
	assert_string_equal(now(o.model, "count"), "uint64 9\n");
	reopen(state, &o);
	assert_string_equal(now(o.model, "count"), "uint64 9\n");
	close_model(&o);
}

static uint64_t next_ino(void *context)
{
	return ++*(uint64_t *)context;
}

static void values_that_follow_the_blocks_are_shown_where_nothing_is_edited(void **state)
{
	static const uint8_t six[4] = { 6 }, seven[4] = { 7 };
	struct opened o = open_keys(state);
	struct metadata *metadata = o.model->metadata;
	const uint32_t i = number(o.model, "count");
	const struct layout_value six_of = { .kv = i, .type = KV_U32, .bytes = six, .length = 4 },
				  seven_of = {
					  .kv = i, .type = KV_U32, .bytes = seven, .length = 4
				  };
	const struct layout_values none = { 0 }, one = { 1, &six_of }, other = { 1, &seven_of };
	uint64_t ino = 1000;

	metadata_set_defaults(metadata, 2, &one, next_ino, &ino);
	assert_string_equal(now(o.model, "count"), "uint32 6\n");
	assert_string_equal(now(o.model, "name"), "string old\n");
	/* Unchanged keys stay; keys of the earlier defaults are hidden. */
	metadata_set_defaults(metadata, 3, &one, next_ino, &ino);
	assert_int_equal(ino, 1001);
	metadata_set_defaults(metadata, 2, &other, next_ino, &ino);
	assert_string_equal(now(o.model, "count"), "uint32 6\n");
	metadata_set_defaults(metadata, 4, &other, next_ino, &ino);
	assert_string_equal(now(o.model, "count"), "uint32 7\n");
	assert_int_equal(put(o.model, "count", "8"), 0);
	assert_string_equal(now(o.model, "count"), "uint32 8\n");
	metadata_set_defaults(metadata, 5, &none, next_ino, &ino);
	assert_int_equal(metadata_defaults_generation(metadata), 5);
	assert_int_equal(put(o.model, "count", "5"), 0);
	assert_string_equal(now(o.model, "count"), "uint32 5\n");
	close_model(&o);
}

static void new_key_is_a_string_unless_typed(void **state)
{
	static const struct value_type f64 = { KV_F64, 0 };
	struct opened o = open_keys(state);

	assert_int_equal(put(o.model, "new.text", "5"), 0);
	assert_int_equal(put_typed(o.model, "new.number", "5", STAGE_WANTED, f64), 0);
	assert_int_equal(put_typed(o.model, "new.was", "6", STAGE_WAS, f64), 0);
	assert_int_equal(put_typed(o.model, "count", "7", STAGE_WAS, f64), 0);
	assert_int_equal(put_typed(o.model, "new.bad", "x", STAGE_WANTED, f64), -EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(now(o.model, "new.text"), "string 5\n");
		assert_string_equal(now(o.model, "new.number"), "float64 5\n");
		assert_string_equal(now(o.model, "new.was"), "float64 6\n");
		assert_string_equal(now(o.model, "count"), "uint32 7\n");
		assert_int_equal(edits_of(o.model), 4);
		reopen(state, &o);
	}
	assert_int_equal(metadata_edit_remove(o.model, number(o.model, "new.number")), 0);
	assert_int_equal(edits_of(o.model), 3);
	assert_int_equal(put(o.model, "new.number", "5"), 0);
	assert_string_equal(now(o.model, "new.number"), "string 5\n");
	close_model(&o);
}

/* The type of a new key depends on the architecture. */
static void key_can_be_made_without_valid_architecture(void **state)
{
	for (unsigned kind = 0; kind < 3; kind++) {
		struct mkgguf *m = mkgguf_new(3);
		char architecture[400];
		struct mk_file file;
		struct opened o;

		memset(architecture, 'x', sizeof(architecture));
		architecture[kind == 0 ? sizeof(architecture) - 1 : 0] = '\0';
		if (kind < 2)
			mkgguf_kv_string(m, "general.architecture", architecture);
		else
			mkgguf_kv_u32(m, "general.architecture", 5);
		mkgguf_tensor(m, "output.weight", GGML_F32, 2, small_ne);
		file = mkgguf_finish(m);
		save(state, "base.gguf", &file);
		mk_file_free(&file);
		o = open_model(state, "base.gguf");
		assert_int_equal(put(o.model, "new.text", "5"), 0);
		for (int i = 0; i < 2; i++) {
			assert_string_equal(now(o.model, "new.text"), "string 5\n");
			reopen(state, &o);
		}
		assert_int_equal(metadata_edit_remove(o.model, number(o.model, "new.text")), 0);
		assert_int_equal(metadata_edit_remove(o.model,
						      number(o.model, "general.architecture")),
				 0);
		assert_int_equal(put(o.model, "new.other", "5"), 0);
		close_model(&o);
	}
}

static void a_key_moves_with_its_type_or_fills_another(void **state)
{
	struct opened o = open_keys(state);
	const uint32_t i = number(o.model, "count");

	assert_int_equal(metadata_edit_move(o.model, i, "amount"), 0);
	assert_string_equal(now(o.model, "count"), "");
	assert_string_equal(now(o.model, "amount"), "uint32 5\n");
	assert_int_equal(metadata_edit_move(o.model, i, "other"), -ENOENT);
	assert_int_equal(metadata_edit_move(o.model, number(o.model, "amount"), "name"), 0);
	assert_string_equal(now(o.model, "amount"), "");
	assert_string_equal(now(o.model, "name"), "string 5\n");
	assert_int_equal(metadata_edit_move(o.model, number(o.model, "list"), "count"), -EINVAL);
	assert_string_equal(now(o.model, "list"), "array of uint16 [1, 2, 3]\n");
	assert_int_equal(metadata_edit_move(o.model, number(o.model, "name"), "count"), 0);
	assert_string_equal(now(o.model, "count"), "uint32 5\n");
	assert_int_equal(edits_of(o.model), 1);
	assert_int_equal(metadata_edit_move(o.model, i, "count"), 0);
	assert_int_equal(metadata_edit_move(o.model, i, "general.alignment"), -EPERM);
	assert_int_equal(metadata_edit_move(o.model, number(o.model, "general.alignment"), "x"),
			 -EPERM);
	assert_int_equal(metadata_edit_move(o.model, i, "split.no"), -EPERM);
	reopen(state, &o);
	assert_string_equal(now(o.model, "count"), "uint32 5\n");
	assert_string_equal(now(o.model, "name"), "");
	close_model(&o);
}

static void a_move_that_the_disk_refuses_has_moved_nothing(void **state)
{
	struct opened o = open_keys(state);

	assert_int_equal(put(o.model, "count", "6"), 0);
	database_writes_fail(ENOSPC, NULL);
	assert_int_equal(metadata_edit_move(o.model, number(o.model, "count"), "amount"), -ENOSPC);
	assert_true(database_write_failed());
	for (int i = 0; i < 2; i++) {
		assert_string_equal(now(o.model, "count"), "uint32 6\n");
		assert_int_equal(edits_of(o.model), 1);
		reopen(state, &o);
	}
	close_model(&o);
}

static void edits_are_seen_at_one_moment(void **state)
{
	struct opened o = open_keys(state);
	struct snapshot snapshot;
	const struct metadata_edit *edit;
	struct metadata_entry *metadatum;
	uint64_t scalar;

	assert_int_equal(put(o.model, "count", "6"), 0);
	assert_int_equal(metadata_edit_remove(o.model, number(o.model, "name")), 0);
	assert_int_equal(put(o.model, "zz", "x"), 0);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 3);
	assert_int_equal(snapshot.generation, model_generation(o.model));
	assert_int_equal(put(o.model, "count", "7"), 0);
	assert_int_equal(snapshot.edits->n, 3);
	edit = metadata_edits_find(snapshot.edits, number(o.model, "count"));
	assert_non_null(edit);
	assert_true(value_scalar(metadata_entry_value(edit->metadatum), 0, &scalar));
	assert_int_equal(scalar, 6);
	assert_false(value_scalar(metadata_entry_value(edit->metadatum), 1, &scalar));
	assert_null(metadata_edits_find(snapshot.edits, number(o.model, "name"))->metadatum);
	assert_null(metadata_edits_find(snapshot.edits, number(o.model, "list")));
	assert_null(metadata_edits_find(NULL, 0));
	metadatum = metadata_get_with_edits(o.model->metadata, snapshot.edits, "list");
	assert_true(value_scalar(metadata_entry_value(metadatum), 2, &scalar));
	assert_int_equal(scalar, 3);
	metadata_entry_unref(metadatum);
	assert_null(metadata_get_with_edits(o.model->metadata, snapshot.edits, "name"));
	assert_null(metadata_get_with_edits(o.model->metadata, snapshot.edits, "none"));
	snapshot_release(&snapshot);
	close_model(&o);
}

static void a_row_of_the_layer_that_is_no_edit_is_left_alone(void **state)
{
	static const char *const rows[] = {
		"'count', 0, NULL, CAST('five' AS BLOB)",
		"'new', 0, 'float33', CAST('5' AS BLOB)",
		"'new', 0, 'uint8', x''",
		"'never', 1, NULL, NULL",
		"'general.alignment', 0, NULL, x'3634'",
		"'a b', 0, NULL, x'78'",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct opened o = open_keys(state);
		char sql[200];

		assert_int_equal(put(o.model, "name", "new"), 0);
		layer_rest(o.model->layer);
		snprintf(sql, sizeof(sql), "INSERT INTO key VALUES (%s, 0)", rows[i]);
		alter_rows(layer_path(o.model->layer), sql);
		reopen(state, &o);
		assert_true(o.model->left_alone);
		assert_true(log_says(o.log, "left alone"));
		assert_int_equal(edits_of(o.model), 1);
		assert_int_equal(layer_delete(o.model->layer), 0);
		close_model(&o);
	}
}

static void each_failing_allocation_leaves_the_old_value(void **state)
{
	struct opened o;

	needs_failing_allocations();
	o = open_keys(state);
	for (uint64_t k = 1;; k++) {
		struct stage *stage = stage_of(o.model, "6");
		int rc;

		allocation_fails(k);
		rc = metadata_edit_fill(o.model, "count", stage);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			stage_free(stage);
			break;
		}
		stage_free(stage);
		/* The edit may skip the comparison with the base's value. */
		if (rc == 0)
			assert_int_equal(put(o.model, "count", "5"), 0);
		else
			assert_int_equal(rc, -ENOMEM);
		assert_string_equal(now(o.model, "count"), "uint32 5\n");
	}
	assert_string_equal(now(o.model, "count"), "uint32 6\n");
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
