/* SPDX-License-Identifier: MIT */
/* layer_slots.c - see layer.h: the content of slots. */
#include "fs/base/donor.h"
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* longest tensor name of an added slot (ADDED_NAME_MAX) */
#define SLOT_MAX 512

static const char *const kinds[] = { [LAYER_COPY] = "copy",
				     [LAYER_REFERENCE] = "reference",
				     [LAYER_LINK] = "link",
				     [LAYER_WHITEOUT] = "removed" };

/* A GGUF without a fingerprint cannot be recognised later, so its path is not kept. */
static const struct donor *donor_to_keep(const struct layer_entry *row)
{
	const struct layer_origin *origin = &row->origin;
	size_t n;

	if (row->kind != LAYER_COPY || !origin->donor)
		return NULL;
	return origin->fingerprint[0] || !donor_tensor(origin->donor, &n) ? origin->donor : NULL;
}

static int insert_row(struct database *database, const struct layer_entry *row, uint64_t blob)
{
	const struct layer_origin *origin = &row->origin;
	const struct donor *donor = donor_to_keep(row);
	size_t n = 0;
	const char *tensor = donor ? donor_tensor(donor, &n) : NULL;
	const char *whose = tensor ? reference_whose[origin->of] : NULL;

	return database_run(database,
			    "INSERT OR REPLACE INTO slot VALUES"
			    " (?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			    "tttibitiittbttt", class_name(row->klass), row->name, kinds[row->kind],
			    layer_time_ns(&row->mtime), origin->slot,
			    origin->slot ? origin->slot_length : (size_t)0, (int64_t)blob,
			    row->target, (int64_t)row->uid, (int64_t)row->gid, row->reference,
			    donor ? donor_path(donor) : NULL, tensor, n,
			    tensor ? origin->fingerprint : NULL, whose,
			    donor ? donor_view(donor) : NULL);
}

/* Write the slot's row, with the blob of that number, 0 for none; with deletes, delete the row. */
static int set_row(struct layer *layer, struct database *database, const struct layer_entry *row,
		   uint64_t blob, bool deletes)
{
	const char *klass = class_name(row->klass);
	int64_t before;
	int rc = database_number(database, &before,
				 "SELECT coalesce(blob, 0) FROM slot WHERE class = ? AND name = ?",
				 "tt", klass, row->name);

	if (rc >= 0 && deletes)
		rc = database_run(database, "DELETE FROM slot WHERE class = ? AND name = ?", "tt",
				  klass, row->name);
	else if (rc >= 0)
		rc = insert_row(database, row, blob);
	if (rc == 0 && before)
		rc = blob_drop(layer, database, (uint64_t)before);
	return rc == 0 ? layer_touch(layer, database, row->klass) : rc;
}

int layer_undo_slot(struct layer *layer, struct database *database,
		    const struct layer_undone *undone)
{
	struct layer_entry row = { .klass = undone->klass,
				   .name = undone->name,
				   .kind = LAYER_WHITEOUT };

	clock_gettime(CLOCK_REALTIME, &row.mtime);
	return set_row(layer, database, &row, 0, !undone->removed);
}

/* A change of a slot, and the item from which it was moved. */
struct slot_change {
	struct layer_entry row; /* the member file is not used */
	uint64_t blob;
	const struct layer_undone *moved_from;
};

static int apply_slot(struct layer *layer, struct database *database, const void *context)
{
	const struct slot_change *change = context;
	const int rc = set_row(layer, database, &change->row, change->blob, false);

	return rc == 0 ? layer_undo_one(layer, database, change->moved_from) : rc;
}

int layer_put(struct layer *layer, const struct layer_entry *entry,
	      const struct layer_undone *moved_from)
{
	struct slot_change change = { .row = *entry, .moved_from = moved_from };

	if (entry->kind == LAYER_REFERENCE) {
		change.row.uid = geteuid();
		change.row.gid = getegid();
	}
	return layer_apply(layer, apply_slot, &change, false);
}

static int apply_seen(struct layer *layer, struct database *database, const void *context)
{
	const struct layer_entry *row = context;

	(void)layer;
	return database_run(database,
			    "UPDATE slot SET reference = ? WHERE class = ? AND name = ? AND "
			    "kind = 'link' AND target = ?",
			    "tttt", row->reference, class_name(row->klass), row->name, row->target);
}

int layer_record_seen(struct layer *layer, enum organ_class klass, const char *name,
		      const char *target, const char *seen)
{
	const struct layer_entry row = {
		.klass = klass, .name = name, .target = target, .reference = seen
	};

	return layer->manner.read_only ? 0 : layer_apply(layer, apply_seen, &row, false);
}

struct layer_commit {
	struct layer *layer;
	struct layer_seal *seal;
	struct slot_change slot;
	struct layer_change change;
	struct backing *file;
};

static int put_blob(struct layer *layer, struct database *database, const struct layer_seal *seal)
{
	const int rc = seal->bytes ? 0 : blob_added(layer, seal->number);

	if (rc < 0)
		return rc;
	return database_run(database, "INSERT INTO blob VALUES (?, ?, ?, ?, ?)", "ititb",
			    (int64_t)seal->number, seal->compressed ? "zstd" : "plain",
			    (int64_t)seal->size, seal->xxh128, seal->bytes, (size_t)seal->size);
}

static int apply_commit(struct layer *layer, struct database *database, const void *context)
{
	const struct layer_commit *commit = context;
	const int rc = put_blob(layer, database, commit->seal);

	return rc == 0 ? apply_slot(layer, database, &commit->slot) : rc;
}

/* The sealed organ file; NULL with *rc set. */
static struct backing *open_sealed(struct layer *layer, const struct layer_seal *seal,
				   const struct layer_entry *row, int *rc)
{
	struct blob blob = { .number = seal->number,
			     .size = seal->size,
			     .is_compressed = seal->compressed,
			     .is_inline = seal->bytes != NULL };
	struct error err = { 0 };
	struct backing *file;

	if (seal->bytes && !(blob.bytes = malloc((size_t)seal->size + 1))) {
		*rc = -ENOMEM;
		return NULL;
	}
	if (seal->bytes)
		memcpy(blob.bytes, seal->bytes, (size_t)seal->size);
	file = blob_backing(layer, &blob, row->klass, row->name, &row->mtime, &err);
	*rc = err.code == EBADMSG ? -EIO : -err.code;
	return file;
}

struct layer_commit *layer_commit_begin(struct layer *layer, struct layer_seal *seal,
					const struct layer_entry *entry, int *rc)
{
	struct layer_commit *commit = calloc(1, sizeof(*commit));

	*rc = -ENOMEM;
	if (!commit)
		return NULL;
	commit->layer = layer;
	commit->seal = seal;
	commit->slot.row = *entry;
	commit->slot.row.kind = LAYER_COPY;
	commit->slot.blob = seal->number;
	commit->change.apply = apply_commit;
	commit->change.context = commit;
	/* Open the file first, because nothing may fail after the commit. */
	commit->file = open_sealed(layer, seal, &commit->slot.row, rc);
	if (!commit->file) {
		free(commit);
		return NULL;
	}
	layer_submit(layer, &commit->change);
	return commit;
}

int layer_commit_wait(struct layer_commit *commit, struct backing **file)
{
	const int rc = layer_await(commit->layer, &commit->change);

	if (rc == 0) {
		*file = commit->file;
		commit->seal->is_kept = true;
	} else {
		backing_unref(commit->file);
	}
	free(commit);
	return rc;
}

struct read_blob {
	struct blob *blob;
	struct timespec *mtime;
};

static int say_blob(struct layer *layer, sqlite3_stmt *row, void *context)
{
	const struct read_blob *read = context;
	const int rc = blob_read(row, 1, read->blob);

	(void)layer;
	*read->mtime = layer_time_of(sqlite3_column_int64(row, 0));
	return rc < 0 ? rc : 1;
}

/* Get the blob of a slot's copy and the slot's mtime. Returns 1, 0: no copy, or -errno. */
static int read_blob(struct layer *layer, enum organ_class klass, const char *name,
		     struct blob *blob, struct timespec *mtime)
{
	struct read_blob read = { blob, mtime };

	*blob = (struct blob){ .number = 0 };
	return layer_query(layer, say_blob, &read,
			   "SELECT mtime, " BLOB_COLUMNS " FROM slot JOIN blob ON blob = number"
			   " WHERE class = ? AND name = ?",
			   "tt", class_name(klass), name);
}

bool layer_organ_hash(struct layer *layer, enum organ_class klass, const char *name,
		      char xxh128[XXH128_TEXT])
{
	struct timespec mtime;
	struct blob blob;
	const bool has = read_blob(layer, klass, name, &blob, &mtime) > 0;

	if (has) {
		memcpy(xxh128, blob.xxh128, XXH128_TEXT);
		free(blob.bytes);
	}
	return has;
}

/* Use the same blob for another slot of the layer. */
static int share_blob(struct layer *layer, struct blob *blob, const struct slot_change *change,
		      struct backing **file)
{
	const struct layer_entry *row = &change->row;
	struct error err = { 0 };
	int rc;

	*file = blob_backing(layer, blob, row->klass, row->name, &row->mtime, &err);
	if (!*file)
		return err.code == EBADMSG ? -EIO : -err.code;
	rc = layer_apply(layer, apply_slot, change, false);
	if (rc < 0)
		backing_unref(*file);
	return rc;
}

/* Copy the blob to another layer: link the file under a new number, copy the row's bytes. */
static int link_blob(struct layer *from, struct blob *blob, struct layer *to,
		     struct layer_seal *seal)
{
	int rc = blob->is_inline && !blob->bytes ? -EIO : layer_make(to);

	*seal = (struct layer_seal){ .size = blob->size, .compressed = blob->is_compressed };
	strcpy(seal->xxh128, blob->xxh128);
	if (rc < 0)
		return rc;
	seal->number = blob_next(to);
	seal->bytes = blob->bytes;
	blob->bytes = NULL;
	return seal->bytes ? 0 : blob_link(from, blob->number, to, seal->number);
}

static int share_with_other(struct layer *from, struct blob *blob, struct layer *to,
			    const struct slot_change *change, struct backing **file)
{
	struct layer_commit *commit = NULL;
	struct layer_seal seal;
	int rc = link_blob(from, blob, to, &seal);

	if (rc == 0)
		commit = layer_commit_begin(to, &seal, &change->row, &rc);
	if (commit)
		rc = layer_commit_wait(commit, file);
	if (rc < 0 && seal.number && !seal.bytes)
		blob_remove(to, seal.number);
	free(seal.bytes);
	free(blob->bytes);
	return rc;
}

int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       const struct layer_entry *entry, const struct layer_undone *moved_from,
	       struct backing **file)
{
	struct slot_change change = { .row = *entry, .moved_from = moved_from };
	struct blob blob;
	int rc = read_blob(from, klass, name, &blob, &change.row.mtime);

	if (rc <= 0)
		return rc < 0 ? rc : -ENOENT;
	change.row.kind = LAYER_COPY;
	change.blob = blob.number;
	rc = from == to ? share_blob(to, &blob, &change, file)
			: share_with_other(from, &blob, to, &change, file);
	/* Perhaps the original's hash has not been verified yet. */
	if (rc == 0)
		backing_expect_hash(*file, blob.xxh128);
	return rc;
}

/* Bytes of a column as a text, to free. NULL: none, or too long. */
static char *copy_bytes(sqlite3_stmt *row, int column, size_t most, size_t *n)
{
	const void *bytes = sqlite3_column_blob(row, column);
	char *copy;

	*n = (size_t)sqlite3_column_bytes(row, column);
	if (!bytes || *n == 0 || *n > most || !(copy = malloc(*n + 1)))
		return NULL;
	memcpy(copy, bytes, *n);
	copy[*n] = '\0';
	return copy;
}

enum {
	COLUMN_CLASS,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_MTIME,
	COLUMN_TENSOR,
	COLUMN_TARGET,
	COLUMN_UID,
	COLUMN_GID,
	COLUMN_REFERENCE,
	COLUMN_DONOR,
	COLUMN_DONOR_TENSOR,
	COLUMN_DONOR_FINGERPRINT,
	COLUMN_DONOR_OF,
	COLUMN_DONOR_VIEW,
	COLUMN_BLOB, /* first of BLOB_COLUMNS */
};

/* The donor of a copy. NULL: none, or invalid. */
static struct donor *read_donor(sqlite3_stmt *row)
{
	const char *path = database_text(row, COLUMN_DONOR);
	const char *print = database_text(row, COLUMN_DONOR_FINGERPRINT);
	const char *view = database_text(row, COLUMN_DONOR_VIEW);
	struct donor *donor, *viewed;
	enum organ_view form;
	char *tensor;
	size_t n;

	if (!path || !path[0] || (print && !xxh128_is_text(print)) ||
	    (!url_or_absolute_path(path) && (!print || strchr(path, '/'))))
		return NULL;
	tensor = copy_bytes(row, COLUMN_DONOR_TENSOR, UINT16_MAX, &n);
	donor = !tensor == !print ? donor_from_record(path, print ? print : "", tensor, n) : NULL;
	free(tensor);
	if (!view || !donor)
		return donor;
	/* Values written by NumPy have no donor. */
	viewed = organ_view_find(view, &form) && form != ORGAN_VIEW_NPY
			 ? donor_from_view(donor, organ_view_name(form))
			 : NULL;
	donor_unref(donor);
	return viewed;
}

static char *copy_text(sqlite3_stmt *row, int column)
{
	const char *text = database_text(row, column);

	return text ? strdup(text) : NULL;
}

/* Values of one row. */
struct read_slot {
	struct layer_entry entry; /* its texts are owned */
	struct blob blob;
};

static void release_slot(struct read_slot *slot)
{
	free((char *)slot->entry.name);
	free((char *)slot->entry.target);
	free((char *)slot->entry.reference);
	free((char *)slot->entry.origin.slot);
	free(slot->blob.bytes);
	donor_unref(slot->entry.origin.donor);
}

static bool find_kind(const char *text, enum layer_kind *kind)
{
	for (*kind = 0; *kind <= LAYER_WHITEOUT; (*kind)++)
		if (strcmp(text, kinds[*kind]) == 0)
			return true;
	return false;
}

/* Returns 1, -EBADMSG or -ENOMEM. */
static int say_slot(struct layer *layer, sqlite3_stmt *row, void *context)
{
	struct read_slot *slot = context;
	const char *klass = database_text(row, COLUMN_CLASS);
	const char *kind = database_text(row, COLUMN_KIND);
	struct layer_entry *entry = &slot->entry;
	int rc;

	if (!klass || !class_find(klass, strlen(klass), &entry->klass) || !kind ||
	    !find_kind(kind, &entry->kind) || !database_text(row, COLUMN_NAME))
		return -EBADMSG;
	entry->name = copy_text(row, COLUMN_NAME);
	entry->mtime = layer_time_of(sqlite3_column_int64(row, COLUMN_MTIME));
	entry->target = copy_text(row, COLUMN_TARGET);
	entry->reference = copy_text(row, COLUMN_REFERENCE);
	entry->uid = (uid_t)sqlite3_column_int64(row, COLUMN_UID);
	entry->gid = (gid_t)sqlite3_column_int64(row, COLUMN_GID);
	layer_owner(layer, &entry->uid, &entry->gid);
	entry->origin.slot = copy_bytes(row, COLUMN_TENSOR, SLOT_MAX, &entry->origin.slot_length);
	entry->origin.donor = entry->kind == LAYER_COPY ? read_donor(row) : NULL;
	entry->origin.of = reference_parse_of(database_text(row, COLUMN_DONOR_OF));
	if (!entry->name)
		return -ENOMEM;
	if ((entry->kind == LAYER_LINK && !entry->target) ||
	    (entry->kind == LAYER_REFERENCE && !entry->reference) || strlen(entry->name) > NAME_MAX)
		return -EBADMSG;
	rc = entry->kind == LAYER_COPY ? blob_read(row, COLUMN_BLOB, &slot->blob) : 0;
	return rc < 0 ? rc : 1;
}

static int say(struct layer *layer, struct read_slot *slot, layer_entry_fn *found, void *context,
	       struct error *err)
{
	struct layer_entry *entry = &slot->entry;
	struct error why = { 0 };
	int rc;

	if (entry->kind == LAYER_COPY)
		entry->file = blob_backing(layer, &slot->blob, entry->klass, entry->name,
					   &entry->mtime, &why);
	if (entry->file)
		backing_expect_hash(entry->file, slot->blob.xxh128);
	rc = found(context, entry, &why);
	if (rc < 0)
		*err = why;
	return rc;
}

/* Read slot by slot, without the database locked: `found` may change the layer. */
int layer_each(struct layer *layer, layer_entry_fn *found, void *context, struct error *err)
{
	struct read_slot slot;
	const char *klass = "";
	char name[NAME_MAX + 1] = "";
	int rc, said = 0;

	do {
		slot = (struct read_slot){ .blob = { .number = 0 } };
		rc = layer_query(layer, say_slot, &slot,
				 "SELECT class, name, kind, mtime, tensor, target, uid, gid,"
				 " reference, donor, donor_tensor, donor_fingerprint,"
				 " donor_of, donor_view, " BLOB_COLUMNS
				 " FROM slot LEFT JOIN blob ON blob = number"
				 " WHERE (class, name) > (?, ?) ORDER BY class, name LIMIT 1",
				 "tt", klass, name);
		if (rc > 0) {
			said = say(layer, &slot, found, context, err);
			klass = class_name(slot.entry.klass);
			snprintf(name, sizeof(name), "%s", slot.entry.name);
		}
		release_slot(&slot);
	} while (rc > 0 && said == 0);
	return rc < 0 ? layer_unread(layer, -rc, err) : said;
}
