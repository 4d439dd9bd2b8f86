/* SPDX-License-Identifier: MIT */
/* open_layer.c - see open_layer.h. */
#include "tests/unit/open_layer.h"
#include "fs/storage/backing.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/log.h"
#include "gguf/reader.h"

#include <sqlite3.h>

struct site open_site(void **state, const char *name, const struct mk_file *file)
{
	struct site site;
	struct source source;

	save(state, name, file);
	site.base = backing_open(in_temp(state, name).text, NULL);
	must(site.base);
	source = backing_source(site.base);
	site.gguf = gguf_read(&source, NULL);
	must(site.gguf);
	snprintf(site.state, sizeof(site.state), "%s", in_temp(state, "state/organfs").text);
	site.manner = (struct layer_options){ .log = log_new(true), .cache = zstd_cache_new() };
	must(site.manner.log && site.manner.cache);
	return site;
}

struct site small_site(void **state)
{
	struct mk_file file = mk_small();
	struct site site = open_site(state, "base.gguf", &file);

	mk_file_free(&file);
	return site;
}

void close_site(struct site *site)
{
	gguf_free(site->gguf);
	backing_unref(site->base);
	zstd_cache_unref(site->manner.cache);
	log_free(site->manner.log);
}

struct layer *open_layer(const struct site *site)
{
	struct error err = { 0 };
	struct layer *layer =
		layer_open_private(site->state, &site->manner, site->base, site->gguf, &err);

	must(layer);
	return layer;
}

int write_stage(struct layer *layer, const void *bytes, size_t n, uint64_t *number)
{
	const int fd = layer_stage(layer, number);

	must(fd < 0 || write(fd, bytes, n) == (ssize_t)n);
	return fd;
}

int commit_seal(struct layer *layer, struct layer_seal *seal, enum organ_class klass,
		const char *name, const struct layer_origin *origin, const struct timespec *mtime,
		struct backing **file)
{
	struct layer_entry entry = { .klass = klass, .name = name, .mtime = *mtime };
	struct layer_commit *commit;
	int rc;

	if (origin)
		entry.origin = *origin;
	commit = layer_commit_begin(layer, seal, &entry, &rc);

	return commit ? layer_commit_wait(commit, file) : rc;
}

int keep_bytes(struct layer *layer, enum organ_class klass, const char *name,
	       const struct layer_origin *origin, const void *bytes, size_t n,
	       struct backing **file)
{
	struct layer_seal seal;
	uint64_t number;
	const int fd = write_stage(layer, bytes, n, &number);
	int rc;

	if (fd < 0)
		return fd;
	rc = layer_seal_stage(layer, number, fd, false, &seal);
	close(fd);
	if (rc == 0)
		rc = commit_seal(layer, &seal, klass, name, origin, &(struct timespec){ 1000, 5 },
				 file);
	/* The blob is in a row or another file, so the stage's file is not needed. */
	if (!seal.is_kept || seal.number != number || seal.bytes)
		layer_unstage(layer, number);
	layer_seal_release(layer, &seal);
	return rc;
}

int keep_text(struct layer *layer, enum organ_class klass, const char *name, const char *text)
{
	struct backing *file;
	const int rc = keep_bytes(layer, klass, name, NULL, text, strlen(text), &file);

	if (rc == 0)
		backing_unref(file);
	return rc;
}

int white_out(struct layer *layer, enum organ_class klass, const char *name)
{
	return layer_undo(layer, &(struct layer_undone){ LAYER_SLOT, klass, name, true }, 1);
}

int revert(struct layer *layer, enum organ_class klass, const char *name)
{
	return layer_undo(layer, &(struct layer_undone){ LAYER_SLOT, klass, name, false }, 1);
}

static int list_one(void *context, const struct layer_entry *entry, struct error *err)
{
	struct listing *listing = context;
	const enum organ_class klass = entry->klass;
	const char *name = entry->name;
	struct backing *file = entry->file;
	char bytes[32] = "";

	must(listing->n < ARRAY_LENGTH(listing->items));
	if (entry->kind == LAYER_LINK || entry->kind == LAYER_REFERENCE) {
		snprintf(listing->items[listing->n++], sizeof(listing->items[0]),
			 "%s/%.32s%c%.32s ", class_name(klass), name,
			 entry->kind == LAYER_LINK ? '>' : '@',
			 entry->kind == LAYER_LINK ? entry->target : entry->reference);
		return 0;
	}
	if (entry->kind == LAYER_WHITEOUT) {
		snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s- ",
			 class_name(klass), name);
		return 0;
	}
	if (!file) {
		must(err->code);
		snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s! ",
			 class_name(klass), name);
		return 0;
	}
	must(backing_size(file) < sizeof(bytes) &&
	     backing_read(file, bytes, (size_t)backing_size(file), 0) == 0);
	snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s=%s ",
		 class_name(klass), name, bytes);
	backing_unref(file);
	return 0;
}

int compare_items(const void *a, const void *b)
{
	return strcmp(a, b);
}

char *list_layer(struct layer *layer)
{
	struct listing listing = { .n = 0 };
	char *text = calloc(1, sizeof(listing.items) + 1);
	struct error err = { 0 };

	must(text);
	must(layer_each(layer, list_one, &listing, &err) == 0);
	qsort(listing.items, listing.n, sizeof(listing.items[0]), compare_items);
	for (size_t i = 0; i < listing.n; i++)
		strcat(text, listing.items[i]);
	return text;
}

static sqlite3 *open_rows(const char *path)
{
	sqlite3 *rows;

	must(sqlite3_open(path_in(path, "layer.db").text, &rows) == SQLITE_OK);
	must(sqlite3_exec(rows, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL) ==
	     SQLITE_OK);
	return rows;
}

void alter_rows(const char *path, const char *sql)
{
	sqlite3 *rows = open_rows(path);

	if (sqlite3_exec(rows, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(rows));
	sqlite3_close(rows);
}

int64_t ask_rows(const char *path, const char *sql)
{
	sqlite3 *rows = open_rows(path);
	sqlite3_stmt *query;
	int64_t number;

	if (sqlite3_prepare_v2(rows, sql, -1, &query, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(rows));
	must(sqlite3_step(query) == SQLITE_ROW);
	number = sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	sqlite3_close(rows);
	return number;
}

int64_t ask_layer(struct layer *layer, const char *sql)
{
	layer_rest(layer);
	return ask_rows(layer_path(layer), sql);
}
