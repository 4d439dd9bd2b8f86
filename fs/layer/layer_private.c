/* SPDX-License-Identifier: MIT */
/* layer_private.c - see layer.h: selects the private layer to take up.
 *
 * A copied model has the fingerprint of the original, but must not show the original's grafts,
 * since users keep copies unchanged. A moved model is still the grafted one. */
#include "fs/base/base.h"
#include "fs/base/fingerprint.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_base.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_trust.h"
#include "fs/storage/backing.h"
#include "fs/util/time_order.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A private layer of this base, open and locked. */
struct candidate_layer {
	int dir; /* -1: none */
	char *path;
	char *place; /* path of the base in its database; NULL: none */
	bool holds_changes;
	struct timespec changed; /* time of the last change */
};

char *layer_base_path(struct backing *base)
{
	const struct backing *first = backing_first_readable(base);
	const char *path = backing_path(first ? first : base);

	return url_is_remote(path) ? strdup(path) : realpath(path, NULL);
}

/* Read whether the layer has changes, and the time of the last one. */
static void read_last_change(struct database *database, struct candidate_layer *candidate)
{
	int rc;
	sqlite3_stmt *row = database_query(database, &rc,
					   "SELECT " LAYER_HOLDS_CHANGES ","
					   " max(coalesce((SELECT max(mtime) FROM directory), 0),"
					   " coalesce((SELECT max(mtime) FROM merge), 0))",
					   "");

	if (row && database_next(database, row) > 0 && sqlite3_column_int(row, 0)) {
		candidate->holds_changes = true;
		candidate->changed = layer_time_of(sqlite3_column_int64(row, 1));
	}
	database_end(row);
}

/* Are fingerprint and, if both can be read, contents those of this base? Returns 1, 0 or -errno. */
static int is_same(const struct layer *layer, const struct base *other)
{
	char theirs[FINGERPRINT_TEXT], mine[FINGERPRINT_TEXT];
	int rc = fingerprint(other->file, other->gguf, theirs);

	if (rc == 0)
		rc = fingerprint(layer->base, layer->gguf, mine);
	if (rc < 0 || strcmp(theirs, mine) != 0)
		return rc;
	if (fingerprint_times(other->file, other->gguf, theirs) &&
	    fingerprint_times(layer->base, layer->gguf, mine) && strcmp(theirs, mine) == 0)
		return 1;
	if (fingerprint_contents(other->file, other->gguf, theirs) == -ENOMEM ||
	    fingerprint_contents(layer->base, layer->gguf, mine) == -ENOMEM)
		return -ENOMEM;
	return !theirs[0] || !mine[0] || strcmp(theirs, mine) == 0;
}

/* Is there at path a copy of this base, or a file that may be one? */
static bool is_copy(const struct layer *layer, const char *path)
{
	struct error err = { 0 };
	struct base other;
	struct stat status;
	int rc;

	/* Do not contact a server for a model that is not mounted. */
	if (url_is_remote(path))
		return true;
	if (stat(path, &status) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	if (!S_ISREG(status.st_mode))
		return false;
	rc = base_open(&other, path, &err);
	if (rc == 0)
		rc = is_same(layer, &other);
	base_close(&other);
	return rc > 0 || rc == -EACCES || rc == -EPERM || rc == -EIO || rc == -ENOMEM;
}

/* Is the file at path the base itself, perhaps under another name? */
static bool is_base(const struct layer *layer, const char *path)
{
	struct backing *first = backing_first_readable(layer->base);
	const struct stat *mine = backing_stat(first ? first : layer->base);
	struct stat status;

	if (layer->place && strcmp(layer->place, path) == 0)
		return true;
	return stat(path, &status) == 0 && status.st_dev == mine->st_dev &&
	       status.st_ino == mine->st_ino;
}

static void release_candidate(struct candidate_layer *candidate)
{
	if (candidate->dir >= 0)
		close(candidate->dir);
	free(candidate->path);
	free(candidate->place);
	*candidate = (struct candidate_layer){ .dir = -1 };
}

/* Check by the fingerprint that the layer is of this base, and read it. */
static bool read_candidate(const struct layer *layer, struct candidate_layer *candidate,
			   struct database *database, struct error *err)
{
	if (layer_base_check(database, layer->base, layer->gguf, err) < 0)
		return false;
	candidate->place = layer_base_read_path(database);
	read_last_change(database, candidate);
	return true;
}

static void note_doubt(struct layer_history *past, const struct candidate_layer *candidate,
		       const char *why)
{
	if (asprintf(&past->doubt,
		     "begins without the grafts in %s: %s; to use them, mount with -o layer=",
		     candidate->path, why) < 0)
		past->doubt = NULL;
}

/* Note a layer whose database is unreadable or of an older version: by its directory's name it may
 * contain grafts of this base. */
static void note_unread(struct layer_history *past, const struct candidate_layer *candidate,
			const struct error *err)
{
	const char *why = layer_trust_doubt(candidate->dir);

	if (err->code == ESTALE)
		return;
	if (why && err->code != ENOTSUP && !past->doubt)
		note_doubt(past, candidate, why);
	else if (!past->unread && asprintf(&past->unread, "begins without the grafts in %s: %s",
					   candidate->path, err->text) < 0)
		past->unread = NULL;
}

/* Open the layer in that directory, if its base has this fingerprint and no mount uses it. */
static struct candidate_layer open_candidate(struct layer *layer, const char *name)
{
	struct candidate_layer candidate = { .dir = -1 };
	struct database *database = NULL;
	struct error err = { 0 };
	bool is_whole = false;

	if (asprintf(&candidate.path, "%s/%s", layer->state, name) < 0)
		candidate.path = NULL;
	if (candidate.path)
		candidate.dir = layer_open_locked(candidate.path, false);
	if (candidate.dir >= 0 && (layer_has_file(candidate.dir, DATABASE) > 0 ||
				   layer_has_file(candidate.dir, "LAYER") > 0))
		database = layer_database_at(candidate.dir, false, true, &err);
	if (database)
		is_whole = read_candidate(layer, &candidate, database, &err);
	if (!is_whole && err.code)
		note_unread(&layer->past, &candidate, &err);
	database_close(database);
	if (!is_whole)
		release_candidate(&candidate);
	return candidate;
}

/* Note that the layer belongs to another copy of the base, unless it has no changes. */
static void note_copy(struct layer_history *past, const struct candidate_layer *candidate)
{
	if (!past->copy && candidate->holds_changes &&
	    asprintf(&past->copy,
		     "begins without the grafts of an earlier mount in %s, which belong to "
		     "another copy, %s",
		     candidate->path, candidate->place) < 0)
		past->copy = NULL;
}

/* May other users have changed the layer? Layers without changes are not reported. */
static bool is_doubtful(struct layer_history *past, const struct candidate_layer *candidate)
{
	const char *why = layer_trust_doubt(candidate->dir);

	if (why && !past->doubt && candidate->holds_changes)
		note_doubt(past, candidate, why);
	return why != NULL;
}

/* Keep the newer of both in *best; the caller releases *other. */
static void choose(struct layer *layer, struct candidate_layer *best, struct candidate_layer *other)
{
	if (best->dir < 0 || (other->holds_changes && !best->holds_changes) ||
	    (other->holds_changes == best->holds_changes &&
	     is_earlier(&best->changed, &other->changed))) {
		const struct candidate_layer swapped = *best;

		*best = *other;
		*other = swapped;
	}
	layer->past.older += other->dir >= 0 && other->holds_changes;
}

/* Is it one of the private layers of the base with that key: KEY, KEY-2, KEY-3, ...? */
static bool is_private_name(const char *name, const char *key)
{
	const size_t n = strlen(key);

	return strncmp(name, key, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

static struct candidate_layer find_newest(struct layer *layer)
{
	struct candidate_layer best = { .dir = -1 };
	char key[FINGERPRINT_KEY];
	DIR *state = opendir(layer->state);
	const struct dirent *entry;

	if (state && fingerprint_key(layer->base, key) == 0)
		while ((entry = readdir(state))) {
			struct candidate_layer found;

			if (!is_private_name(entry->d_name, key))
				continue;
			found = open_candidate(layer, entry->d_name);
			if (found.dir < 0)
				continue;
			if (is_doubtful(&layer->past, &found))
				;
			else if (!found.place || is_base(layer, found.place) ||
				 !is_copy(layer, found.place))
				choose(layer, &best, &found);
			else
				note_copy(&layer->past, &found);
			release_candidate(&found);
		}
	if (state)
		closedir(state);
	return best;
}

static void move_base(const struct candidate_layer *candidate, const char *place)
{
	struct database *database = layer_database_at(candidate->dir, false, false, NULL);

	if (database)
		layer_base_move(database, place);
	database_close(database);
}

void layer_recover_private(struct layer *layer)
{
	struct candidate_layer newest = find_newest(layer);

	if (newest.dir < 0)
		return;
	/* Record this file as the base, so that a later move is recognised. After an error the row
	 * keeps the old path, which still works as for this mount. */
	if (layer->place && (!newest.place || strcmp(newest.place, layer->place) != 0))
		move_base(&newest, layer->place);
	layer->is_checked = true;
	layer->past.changed = newest.changed;
	layer->dir = newest.dir;
	layer->path = newest.path;
	free(newest.place);
}
