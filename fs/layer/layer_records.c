/* SPDX-License-Identifier: MIT */
/* layer_records.c - see layer_records.h. */
#include "fs/layer/layer_records.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"
#include "fs/storage/view.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int put_key(struct layer *layer, struct database *database, const struct layer_key *key)
{
	const int rc = layer_touch(layer, database, LAYER_METADATA_TIME);

	return rc < 0 ? rc
		      : database_run(database, "INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?)",
				     "titbi", key->name, (int64_t)key->removed, key->type,
				     key->text, key->size, layer_time_ns(&key->mtime));
}

static int undo_key(struct layer *layer, struct database *database,
		    const struct layer_undone *undone)
{
	struct layer_key key = { .name = undone->name, .removed = true };
	int rc;

	if (undone->removed) {
		clock_gettime(CLOCK_REALTIME, &key.mtime);
		return put_key(layer, database, &key);
	}
	rc = layer_touch(layer, database, LAYER_METADATA_TIME);
	return rc < 0 ? rc
		      : database_run(database, "DELETE FROM key WHERE name = ?", "t", key.name);
}

struct key_change {
	struct layer_key key;
	const struct layer_undone *moved_from;
};

static int apply_key(struct layer *layer, struct database *database, const void *context)
{
	const struct key_change *change = context;
	const int rc = put_key(layer, database, &change->key);

	return rc == 0 ? layer_undo_one(layer, database, change->moved_from) : rc;
}

/* The text of a value, to free. NULL with *rc set. */
static uint8_t *text_of(struct view *text, size_t *size, int *rc)
{
	const uint64_t n = view_size(text);
	uint8_t *bytes = n < SIZE_MAX ? malloc((size_t)n + 1) : NULL;
	ssize_t got;

	*rc = -ENOMEM;
	if (!bytes)
		return NULL;
	got = view_read(text, bytes, (size_t)n, 0);
	*size = (size_t)n;
	*rc = got < 0 ? (int)got : (uint64_t)got < n ? -EIO : 0;
	if (*rc == 0)
		return bytes;
	free(bytes);
	return NULL;
}

int layer_write_key(struct layer *layer, const struct layer_key *key, struct view *text,
		    const struct layer_undone *moved_from)
{
	struct key_change change = { *key, moved_from };
	int rc;
	uint8_t *bytes = text_of(text, &change.key.size, &rc);

	change.key.text = bytes;
	if (rc == 0)
		rc = layer_apply(layer, apply_key, &change, false);
	free(bytes);
	return rc;
}

/* Callback for rows of a query, called with the database locked: it must not use the layer. */
struct row_reader {
	layer_key_fn *key;
	layer_type_fn *type;
	layer_adapter_fn *adapter;
	void *context;
	struct error *err;
};

/* Set err for a failed query, unless the callback has set it. Returns rc. */
static int end_rows(struct layer *layer, int rc, struct error *err)
{
	return rc < 0 && !err->code ? layer_unread(layer, -rc, err) : rc;
}

static int say_key(struct layer *layer, sqlite3_stmt *row, void *context)
{
	const struct row_reader *to = context;
	const void *text = sqlite3_column_blob(row, 3);
	const struct layer_key key = { .name = database_text(row, 0),
				       .removed = sqlite3_column_int(row, 1) != 0,
				       .type = database_text(row, 2),
				       .text = text ? text : (const uint8_t *)"",
				       .size = (size_t)sqlite3_column_bytes(row, 3),
				       .mtime = layer_time_of(sqlite3_column_int64(row, 4)) };

	(void)layer;
	return !key.name || !key.name[0] || strlen(key.name) > NAME_MAX
		       ? -EBADMSG
		       : to->key(to->context, &key, to->err);
}

int layer_each_key(struct layer *layer, layer_key_fn *found, void *context, struct error *err)
{
	struct row_reader to = { .key = found, .context = context, .err = err };

	return end_rows(layer,
			layer_query(layer, say_key, &to,
				    "SELECT name, removed, type, text, mtime FROM key", ""),
			err);
}

static int put_type(struct layer *layer, struct database *database, const struct layer_type *type)
{
	const char *class = class_name(type->klass);
	const int rc = layer_touch(layer, database, type->klass);

	if (rc < 0)
		return rc;
	return type->type ? database_run(database,
					 "INSERT OR REPLACE INTO type VALUES (?, ?, ?, ?)", "ttti",
					 class, type->name, type->type, layer_time_ns(&type->mtime))
			  : database_run(database, "DELETE FROM type WHERE class = ? AND name = ?",
					 "tt", class, type->name);
}

struct type_change {
	const struct layer_type *types;
	size_t n;
};

static int apply_types(struct layer *layer, struct database *database, const void *context)
{
	const struct type_change *change = context;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < change->n; i++)
		rc = put_type(layer, database, &change->types[i]);
	return rc;
}

int layer_write_types(struct layer *layer, const struct layer_type *types, size_t n)
{
	const struct type_change change = { types, n };
	bool frees = true;

	for (size_t i = 0; i < n; i++)
		frees &= !types[i].type;
	return layer_apply(layer, apply_types, &change, frees);
}

static int say_type(struct layer *layer, sqlite3_stmt *row, void *context)
{
	const struct row_reader *to = context;
	const char *class = database_text(row, 0);
	struct layer_type type = { .name = database_text(row, 1),
				   .type = database_text(row, 2),
				   .mtime = layer_time_of(sqlite3_column_int64(row, 3)) };

	(void)layer;
	if (!class || !class_find(class, strlen(class), &type.klass) || !type.name || !type.type ||
	    strlen(type.name) > NAME_MAX)
		return -EBADMSG;
	return to->type(to->context, &type, to->err);
}

int layer_each_type(struct layer *layer, layer_type_fn *found, void *context, struct error *err)
{
	struct row_reader to = { .type = found, .context = context, .err = err };

	return end_rows(layer,
			layer_query(layer, say_type, &to,
				    "SELECT class, name, type, mtime FROM type", ""),
			err);
}

static int apply_adapter(struct layer *layer, struct database *database, const void *context)
{
	const struct layer_adapter *adapter = context;
	const int rc = layer_touch(layer, database, CLASS_ADAPTERS);

	return rc < 0 ? rc
		      : database_run(database,
				     "INSERT OR REPLACE INTO adapter VALUES (?, ?, ?, ?, ?, ?)",
				     "ttiiti", adapter->file, adapter->target,
				     (int64_t)adapter->uid, (int64_t)adapter->gid, adapter->text,
				     layer_time_ns(&adapter->mtime));
}

int layer_write_adapter(struct layer *layer, const struct layer_adapter *adapter)
{
	return layer_apply(layer, apply_adapter, adapter, false);
}

static int undo_adapter(struct layer *layer, struct database *database, const char *file)
{
	const int rc = layer_touch(layer, database, CLASS_ADAPTERS);

	return rc < 0 ? rc
		      : database_run(database, "DELETE FROM adapter WHERE file = ?", "t", file);
}

static int say_adapter(struct layer *layer, sqlite3_stmt *row, void *context)
{
	const struct row_reader *to = context;
	struct layer_adapter adapter = { .file = database_text(row, 0),
					 .target = database_text(row, 1),
					 .uid = (uid_t)sqlite3_column_int64(row, 2),
					 .gid = (gid_t)sqlite3_column_int64(row, 3),
					 .text = database_text(row, 4),
					 .mtime = layer_time_of(sqlite3_column_int64(row, 5)) };

	layer_owner(layer, &adapter.uid, &adapter.gid);
	return !adapter.file || strlen(adapter.file) > NAME_MAX
		       ? -EBADMSG
		       : to->adapter(to->context, &adapter, to->err);
}

int layer_each_adapter(struct layer *layer, layer_adapter_fn *found, void *context,
		       struct error *err)
{
	struct row_reader to = { .adapter = found, .context = context, .err = err };

	return end_rows(layer,
			layer_query(layer, say_adapter, &to,
				    "SELECT file, target, uid, gid, text, mtime FROM adapter", ""),
			err);
}

static int apply_merge(struct layer *layer, struct database *database, const void *context)
{
	const struct layer_merge *merge = context;

	(void)layer;
	return database_run(database, "INSERT OR REPLACE INTO merge VALUES (1, ?, ?, ?, ?)", "tiii",
			    merge->text, (int64_t)merge->uid, (int64_t)merge->gid,
			    layer_time_ns(&merge->mtime));
}

int layer_write_merge(struct layer *layer, const struct layer_merge *merge)
{
	return strlen(merge->text) > LAYER_MERGE_MAX
		       ? -EFBIG
		       : layer_apply(layer, apply_merge, merge, false);
}

static int say_merge(struct layer *layer, sqlite3_stmt *row, void *context)
{
	struct layer_merge *merge = context;
	const char *text = database_text(row, 0);

	merge->uid = (uid_t)sqlite3_column_int64(row, 1);
	merge->gid = (gid_t)sqlite3_column_int64(row, 2);
	merge->mtime = layer_time_of(sqlite3_column_int64(row, 3));
	layer_owner(layer, &merge->uid, &merge->gid);
	merge->text = text ? strdup(text) : NULL;
	return !text ? -EBADMSG : merge->text ? 1 : -ENOMEM;
}

int layer_read_merge(struct layer *layer, struct layer_merge *merge)
{
	*merge = (struct layer_merge){ .text = NULL };
	return layer_query(layer, say_merge, merge, "SELECT text, uid, gid, mtime FROM merge", "");
}

struct undo_change {
	const struct layer_undone *undone;
	size_t n;
};

static int undo_type(struct layer *layer, struct database *database,
		     const struct layer_undone *undone)
{
	const struct layer_type own = { .klass = undone->klass, .name = undone->name };

	return put_type(layer, database, &own);
}

int layer_undo_one(struct layer *layer, struct database *database,
		   const struct layer_undone *undone)
{
	int rc = 0;

	if (!undone)
		return 0;
	switch (undone->item) {
	case LAYER_SLOT:
	case LAYER_TYPED_SLOT:
		if (undone->item == LAYER_TYPED_SLOT)
			rc = undo_type(layer, database, undone);
		return rc == 0 ? layer_undo_slot(layer, database, undone) : rc;
	case LAYER_KEY:
		return undo_key(layer, database, undone);
	case LAYER_ADAPTER:
		return undo_adapter(layer, database, undone->name);
	default:
		return database_run(database, "DELETE FROM merge", "");
	}
}

static int apply_undo(struct layer *layer, struct database *database, const void *context)
{
	const struct undo_change *change = context;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < change->n; i++)
		rc = layer_undo_one(layer, database, &change->undone[i]);
	return rc;
}

int layer_undo(struct layer *layer, const struct layer_undone *undone, size_t n)
{
	const struct undo_change change = { undone, n };
	bool says = layer_exists(layer);

	/* A layer that does not exist has nothing to remove. */
	for (size_t i = 0; i < n; i++)
		says |= undone[i].removed;
	return says ? layer_apply(layer, apply_undo, &change, true) : 0;
}
