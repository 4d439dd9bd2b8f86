/* SPDX-License-Identifier: MIT */
/* metadata_edit.c - see metadata_edit.h. */
#include "fs/edit/metadata_edit.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_records.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/metadata.h"
#include "fs/metadata/value_parse.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/log.h"
#include "gguf/error.h"
#include "gguf/keys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE_CHUNK ((size_t)1 << 16)

struct editing {
	struct model *model;
	const char *name;
	bool is_new; /* the key does not exist yet */
	uint32_t i;  /* number of the key, unless is_new */
	char key[KEY_FILENAME_MAX + 1];
	size_t key_length;
	enum stage_type typed; /* source of type */
	struct value_type type;
	struct timespec mtime;
	struct value_bytes bytes;
	const struct layer_undone *moved_from; /* key emptied in the same transaction; NULL: none */
	uint32_t moved_from_key;	       /* number of that key */
	struct error err;
};

static uint32_t width_of(const struct model *model)
{
	return model->gguf->version > 1 ? 8 : 4;
}

/* Find the key, or decode the name of a new one. Returns 0, -EINVAL or -EPERM. */
static int find_key(struct editing *editing)
{
	struct metadata *metadata = editing->model->metadata;
	bool fixed;

	editing->is_new = !metadata_find(metadata, editing->name, &editing->i);
	if (editing->is_new) {
		editing->key_length = key_filename_decode(editing->name, editing->key);
		if (editing->key_length == 0)
			return error_set(&editing->err, EINVAL, ERROR_NO_OFFSET,
					 "the file name is not that of a key");
		fixed = metadata_is_fixed(editing->key, editing->key_length);
	} else {
		fixed = metadata_key(metadata, editing->i).fixed;
	}
	return fixed ? error_set(&editing->err, EPERM, ERROR_NO_OFFSET,
				 "the key describes the file itself and cannot be changed")
		     : 0;
}

/* Current architecture of the model; empty: none, or too long to be the prefix of a key. Returns 0,
 * or -errno if it cannot be read. */
static int read_architecture(const struct editing *editing, char text[KEY_FILENAME_MAX + 1])
{
	struct metadata *metadata = editing->model->metadata;
	uint32_t i;
	int rc = 0;
	struct metadata_entry *metadatum = metadata_find(metadata, "general.architecture", &i)
						   ? metadata_get(metadata, i, &rc)
						   : NULL;
	const struct value *value = metadatum ? metadata_entry_value(metadatum) : NULL;
	size_t n = 0;

	/* rc matters only if a present key cannot be read. */
	if (metadatum || rc == -ENOENT)
		rc = 0;
	if (value && value->type.type == KV_STRING && value->length <= KEY_FILENAME_MAX) {
		rc = value->source->read_at(value->source->context, text, (size_t)value->length,
					    value->offset);
		n = rc == 0 ? (size_t)value->length : 0;
	}
	text[n] = '\0';
	metadata_entry_unref(metadatum);
	return rc;
}

/* Is the text a JSON array? 1 or 0, or -errno. */
static int is_list(const struct source *text)
{
	char start[64];
	const size_t n = text->size < sizeof(start) ? (size_t)text->size : sizeof(start);
	size_t blanks = 0;
	const int rc = text->read_at(text->context, start, n, 0);

	if (rc < 0)
		return rc;
	while (blanks < n && strchr(" \t\r\n", start[blanks]))
		blanks++;
	return blanks < n && start[blanks] == '[';
}

/* Find the type of a key without one: the specification's, or string. */
static int type_of_new(struct editing *editing, const struct source *text)
{
	struct metadata_key key = { .key = editing->key, .length = (uint32_t)editing->key_length };
	char architecture[KEY_FILENAME_MAX + 1];
	struct key_type known;
	int list = 0, rc;

	if (!editing->is_new)
		key = metadata_key(editing->model->metadata, editing->i);
	rc = read_architecture(editing, architecture);
	if (rc < 0)
		return rc;
	editing->type = (struct value_type){ KV_STRING, 0 };
	if (!key_type_find(key.key, key.length, architecture, &known))
		return 0;
	if (known.value != KV_ARRAY && known.element != KV_ARRAY)
		list = is_list(text);
	editing->type = known.value == KV_ARRAY || list > 0
				? (struct value_type){ KV_ARRAY, known.element }
				: (struct value_type){ known.value, 0 };
	return list < 0 ? list : 0;
}

/* Find the type of the value. Returns 0, or -errno if its source cannot be read. */
static int find_type(struct editing *editing, const struct source *text)
{
	struct value_type type;

	if (editing->typed == STAGE_WANTED)
		return 0;
	if (!editing->is_new && metadata_type(editing->model->metadata, editing->i, &type))
		editing->type = type;
	else if (editing->typed == STAGE_UNTYPED)
		return type_of_new(editing, text);
	return 0;
}

static int check_text(struct editing *editing, const struct source *source)
{
	int rc = find_key(editing);

	if (rc == 0)
		rc = find_type(editing, source);
	if (rc < 0)
		return rc;
	return value_parse(source, editing->type, width_of(editing->model), &editing->bytes,
			   &editing->err);
}

static bool same_bytes(const struct value *value, const uint8_t *bytes)
{
	uint8_t *chunk = malloc(COMPARE_CHUNK);
	bool same = chunk != NULL;

	for (uint64_t at = 0; same && at < value->length;) {
		const uint64_t left = value->length - at;
		const size_t n = left < COMPARE_CHUNK ? (size_t)left : COMPARE_CHUNK;

		same = value->source->read_at(value->source->context, chunk, n,
					      value->offset + at) == 0 &&
		       memcmp(chunk, bytes + at, n) == 0;
		at += n;
	}
	free(chunk);
	return same;
}

static bool is_bases(const struct editing *editing)
{
	struct metadata_entry *base;
	const struct value *value;
	bool same;
	int rc;

	if (editing->is_new)
		return false;
	base = metadata_get_as(editing->model->metadata, METADATA_OF_BASE, editing->i, &rc);
	if (!base)
		return false;
	value = metadata_entry_value(base);
	same = value_type_same(value->type, editing->type) &&
	       value->length == editing->bytes.length &&
	       (value->type.type != KV_ARRAY || value->count == editing->bytes.count) &&
	       same_bytes(value, editing->bytes.bytes);
	metadata_entry_unref(base);
	return same;
}

bool metadata_edit_is_none(struct model *model, const char *name, const struct value_type *type,
			   const struct source *text)
{
	struct editing editing = { .model = model,
				   .name = name,
				   .typed = type ? STAGE_WANTED : STAGE_UNTYPED };
	bool none;

	if (type)
		editing.type = *type;
	none = check_text(&editing, text) == 0 && is_bases(&editing);
	free(editing.bytes.bytes);
	return none;
}

static bool has_bases_type(const struct editing *editing)
{
	const struct gguf *gguf = editing->model->gguf;

	if (editing->is_new || editing->i >= gguf->n_kv)
		return false;
	return value_type_same(editing->type, (struct value_type){ gguf->kv[editing->i].type,
								   gguf->kv[editing->i].element });
}

static int write_layer(const struct editing *editing, struct view *text)
{
	char type[VALUE_TYPE_TEXT];
	struct layer_key key = { .name = editing->name, .mtime = editing->mtime };

	if (!has_bases_type(editing)) {
		value_type_text(editing->type, type);
		key.type = type;
	}
	return layer_write_key(editing->model->layer, &key, text, editing->moved_from);
}

static void empty_moved_from(const struct editing *editing)
{
	struct metadata *metadata = editing->model->metadata;

	if (!editing->moved_from)
		return;
	metadata_set_type(metadata, editing->moved_from_key, NULL);
	metadata_set(metadata, editing->moved_from_key, NULL);
}

/* Add a missing key, without a value, so that nothing can fail after the layer's commit. */
static int reserve(struct editing *editing)
{
	struct metadata *metadata = editing->model->metadata;
	int rc = 0;

	if (editing->is_new)
		rc = metadata_add(metadata, editing->key, editing->key_length, &editing->i);
	editing->is_new = editing->is_new && rc < 0;
	return rc;
}

static int restore(struct editing *editing)
{
	struct layer_undone undone[2] = { { LAYER_KEY, .name = editing->name } };
	int rc;

	if (editing->moved_from)
		undone[1] = *editing->moved_from;
	rc = layer_undo(editing->model->layer, undone, editing->moved_from ? 2 : 1);
	if (rc < 0)
		return rc;
	metadata_reset(editing->model->metadata, editing->i);
	empty_moved_from(editing);
	return 0;
}

static int replace(struct editing *editing)
{
	struct model *model = editing->model;
	struct metadata_entry *metadatum =
		metadata_entry_new(inode_new(model), editing->type, width_of(model),
				   &editing->bytes, &editing->mtime);
	struct view *text;
	int rc = -ENOMEM;

	if (!metadatum)
		return rc;
	text = metadata_entry_view(metadatum, &rc);
	if (text)
		rc = reserve(editing);
	if (text && rc == 0)
		rc = write_layer(editing, text);
	if (text && rc == 0) {
		metadata_set(model->metadata, editing->i, metadatum);
		empty_moved_from(editing);
	} else {
		metadata_entry_unref(metadatum);
	}
	view_unref(text);
	return rc;
}

/* Parse again if another thread has added the key meanwhile, or changed its type. The caller holds
 * the commit lock. */
static int check_again(struct editing *editing, const struct source *source)
{
	const struct value_type type = editing->type;
	int rc;

	editing->is_new = !metadata_find(editing->model->metadata, editing->name, &editing->i);
	rc = find_type(editing, source);
	if (rc < 0 || value_type_same(editing->type, type))
		return rc;
	free(editing->bytes.bytes);
	editing->bytes = (struct value_bytes){ 0 };
	return value_parse(source, editing->type, width_of(editing->model), &editing->bytes,
			   &editing->err);
}

/* Call replace(), or restore() if the value equals the base's, with the commit lock held. */
static int put_value(struct editing *editing, const struct source *source)
{
	int rc = journal_check(editing->model);

	if (rc == 0)
		rc = check_again(editing, source);
	if (rc < 0)
		return rc;
	return is_bases(editing) ? restore(editing) : replace(editing);
}

static int refuse(struct editing *editing, int rc)
{
	char text[LAYER_WHY], type[VALUE_TYPE_TEXT];

	layer_why(editing->model->layer, &editing->err, rc, text);
	if (editing->err.code == EINVAL && editing->err.offset != ERROR_NO_OFFSET)
		log_add(editing->model->log,
			METADATA_DIRECTORY "%s: refused: not of type %s: %s; "
					   "the key keeps its value",
			editing->name, value_type_text(editing->type, type), text);
	else
		log_add(editing->model->log,
			METADATA_DIRECTORY "%s: refused: %s; the key keeps its value",
			editing->name, text);
	return rc;
}

int metadata_edit_judge(struct model *model, uint32_t i, struct value_type type, const char *text,
			size_t n)
{
	struct memory_bytes memory = { (const uint8_t *)text, n };
	const struct source source = source_of_memory(&memory);
	const struct metadata_key key = metadata_key(model->metadata, i);
	struct editing editing = { .model = model, .name = key.name, .type = type };
	const struct value_type others[] = { { KV_I64, 0 }, { KV_F64, 0 }, { KV_BOOL, 0 } };
	int rc = value_parse(&source, type, width_of(model), &editing.bytes, &editing.err);

	free(editing.bytes.bytes);
	/* A copying program may set another type before its close. */
	for (size_t k = 0; rc == -EINVAL && k < sizeof(others) / sizeof(others[0]); k++) {
		struct value_bytes bytes = { .bytes = NULL };

		if (is_list(&source) != 0 ||
		    value_parse(&source, others[k], width_of(model), &bytes, NULL) == 0)
			rc = 0;
		free(bytes.bytes);
	}
	return rc < 0 ? refuse(&editing, rc) : 0;
}

int metadata_edit_fill(struct model *model, const char *name, struct stage *stage)
{
	const struct stage_shown shown = stage_shown(stage);
	struct editing editing = { .model = model,
				   .name = name,
				   .typed = shown.typed,
				   .type = shown.type,
				   .mtime = shown.mtime };
	struct source staged;
	int rc = stage_commit_begin(stage, &staged);

	if (rc == 0)
		rc = check_text(&editing, &staged);
	/* The layer gets the value as it is shown; the writer keeps the bytes that it wrote. */
	if (rc == 0) {
		journal_begin(model);
		rc = put_value(&editing, &staged);
		journal_end(model);
	}
	rc = stage_commit_keep(stage, rc);
	free(editing.bytes.bytes);
	return rc < 0 ? refuse(&editing, rc) : 0;
}

/* Remove the key, with the commit lock held. remember: keep its type for its next value. */
static int remove_key(struct model *model, uint32_t i, bool remember)
{
	const struct metadata_key key = metadata_key(model->metadata, i);
	struct value_type type;
	int rc;

	if (key.fixed)
		return -EPERM;
	remember = remember && metadata_type(model->metadata, i, &type);
	rc = journal_check(model);
	if (rc == 0)
		rc = journal_empty_key(model, i);
	if (rc < 0)
		return rc;
	metadata_set_type(model->metadata, i, remember ? &type : NULL);
	metadata_set(model->metadata, i, NULL);
	return 0;
}

int metadata_edit_remove_if(struct model *model, uint32_t i, const struct metadata_entry *was,
			    bool *moved_on)
{
	struct metadata_entry *metadatum;
	int rc;

	journal_begin(model);
	metadatum = metadata_get(model->metadata, i, &rc);
	*moved_on = metadatum && was && metadata_entry_ino(metadatum) != metadata_entry_ino(was);
	if (*moved_on)
		rc = -ESTALE;
	else if (metadatum)
		rc = remove_key(model, i, was != NULL);
	journal_end(model);
	metadata_entry_unref(metadatum);
	if (rc < 0 && rc != -ENOENT && !*moved_on)
		log_add(model->log,
			METADATA_DIRECTORY "%s: cannot remove: %s; the key keeps its value",
			metadata_key(model->metadata, i).name, strerror(-rc));
	return rc;
}

int metadata_edit_remove(struct model *model, uint32_t i)
{
	bool moved_on;

	return metadata_edit_remove_if(model, i, NULL, &moved_on);
}

/* Set the key to the text of another, with the commit lock held. */
static int fill_from(struct editing *editing, struct metadata_entry *from)
{
	struct view *text;
	struct source source;
	int rc;

	text = metadata_entry_view(from, &rc);
	if (!text)
		return rc;
	source = view_source(text);
	rc = check_text(editing, &source);
	if (rc == 0)
		rc = put_value(editing, &source);
	free(editing->bytes.bytes);
	view_unref(text);
	return rc;
}

static int move_key(struct editing *editing, uint32_t i, struct metadata_entry *metadatum)
{
	struct model *model = editing->model;
	const struct metadata_key key = metadata_key(model->metadata, i);
	const struct layer_undone moved_from = { LAYER_KEY, .name = key.name,
						 .removed = i < model->gguf->n_kv };
	int rc = find_key(editing);

	if (rc == 0 && key.fixed)
		rc = error_set(&editing->err, EPERM, ERROR_NO_OFFSET,
			       "the key describes the file itself and cannot be changed");
	if (rc < 0 || (!editing->is_new && editing->i == i))
		return rc;
	editing->moved_from = &moved_from;
	editing->moved_from_key = i;
	rc = fill_from(editing, metadatum);
	editing->moved_from = NULL;
	return rc;
}

int metadata_edit_move(struct model *model, uint32_t i, const char *new_name)
{
	struct editing editing = { .model = model, .name = new_name, .typed = STAGE_WAS };
	struct metadata_entry *metadatum;
	int rc;

	journal_begin(model);
	metadatum = metadata_get(model->metadata, i, &rc);
	if (metadatum) {
		editing.type = metadata_entry_value(metadatum)->type;
		editing.mtime = metadata_entry_mtime(metadatum);
		rc = move_key(&editing, i, metadatum);
	}
	journal_end(model);
	metadata_entry_unref(metadatum);
	return rc < 0 && rc != -ENOENT ? refuse(&editing, rc) : rc;
}

int metadata_edit_set_type(struct model *model, uint32_t i, struct value_type type)
{
	struct editing editing = { .model = model,
				   .name = metadata_key(model->metadata, i).name,
				   .typed = STAGE_WANTED,
				   .type = type };
	struct metadata_entry *metadatum;
	int rc;

	clock_gettime(CLOCK_REALTIME, &editing.mtime);
	journal_begin(model);
	metadatum = metadata_get(model->metadata, i, &rc);
	if (metadatum && value_type_same(metadata_entry_value(metadatum)->type, type))
		rc = 0;
	else if (metadatum)
		rc = fill_from(&editing, metadatum);
	journal_end(model);
	metadata_entry_unref(metadatum);
	return rc < 0 && rc != -ENOENT ? refuse(&editing, rc) : rc;
}

bool metadata_edit_get_type(struct model *model, uint32_t i, struct value_type *type)
{
	int rc;
	struct metadata_entry *metadatum = metadata_get(model->metadata, i, &rc);

	if (metadatum)
		*type = metadata_entry_value(metadatum)->type;
	metadata_entry_unref(metadatum);
	return metadatum != NULL;
}

static int recover_value(struct editing *editing, const struct layer_key *key)
{
	struct memory_bytes memory = { key->text, key->size };
	const struct source source = source_of_memory(&memory);
	struct metadata_entry *metadatum;
	int rc;

	editing->mtime = key->mtime;
	if (key->type) {
		editing->typed = STAGE_WANTED;
		if (!value_type_parse(key->type, strlen(key->type), &editing->type))
			return error_set(&editing->err, EINVAL, ERROR_NO_OFFSET,
					 "\"%.40s\" is not a type of metadata", key->type);
	}
	rc = check_text(editing, &source);
	if (rc < 0)
		return rc;
	metadatum = metadata_entry_new(inode_new(editing->model), editing->type,
				       width_of(editing->model), &editing->bytes, &editing->mtime);
	rc = metadatum ? reserve(editing) : -ENOMEM;
	if (rc == 0)
		metadata_set(editing->model->metadata, editing->i, metadatum);
	else
		metadata_entry_unref(metadatum);
	return rc;
}

static int recover_one(void *context, const struct layer_key *key, struct error *err)
{
	struct model *model = context;
	struct editing editing = { .model = model, .name = key->name };
	char text[320];
	int rc = find_key(&editing);

	if (rc == 0 && !key->removed) {
		rc = recover_value(&editing, key);
	} else if (rc == 0 && editing.is_new) {
		rc = error_set(&editing.err, ENOENT, ERROR_NO_OFFSET, "no key has that name");
	} else if (rc == 0) {
		metadata_set(model->metadata, editing.i, NULL);
	}
	free(editing.bytes.bytes);
	if (rc < 0 && !editing.err.code)
		error_errno(&editing.err, -rc);
	if (layer_is_unread(editing.err.code))
		return layer_unread(model->layer, editing.err.code, err);
	if (rc == 0)
		model->recovered++;
	else
		model_leave_alone(model, "metadata", key->name,
				  error_describe(&editing.err, text, sizeof(text)));
	return 0;
}

int metadata_edit_recover(struct model *model, struct error *err)
{
	return layer_each_key(model->layer, recover_one, model, err);
}
