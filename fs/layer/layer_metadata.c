/* SPDX-License-Identifier: MIT */
/* layer_metadata.c - see layer_metadata.h. */
#include "fs/layer/layer_metadata.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_transaction.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/io.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const prefixes[] = {
	[LAYER_KEY_REMOVED] = ".wh.", [LAYER_KEY_TYPED] = ".typed.", [LAYER_KEY_TEXT] = ""
};

static void file_name(enum layer_key kind, const char *name, char out[LAYER_FILE_MAX])
{
	snprintf(out, LAYER_FILE_MAX, "%s%s", prefixes[kind], name);
}

/* The change is to the key's file of that kind, which is durable, or to none. Files that count more
 * than it go, the one that counts last, at which the change takes effect; those that count less say
 * nothing any more. */
static int change_to(struct layer_transaction *change, enum layer_key kind, const char *name)
{
	const unsigned before = change->n;
	char file[LAYER_FILE_MAX];
	int rc = 0;

	for (enum layer_key other = kind; rc == 0 && other-- > 0;) {
		file_name(other, name, file);
		rc = layer_transaction_remove(change, file);
	}
	if (rc == 0 && change->n > before)
		rc = layer_transaction_sync(change);
	for (enum layer_key other = kind + 1; rc == 0 && other < LAYER_KEY_NOTHING; other++) {
		file_name(other, name, file);
		unlinkat(change->dir, file, 0);
	}
	return layer_transaction_end(change, rc);
}

/* A durable file with that content. */
static int write_stage(struct layer *layer, int fd, const char *head, struct view *text,
		       const struct timespec *mtime)
{
	const struct timespec times[2] = { *mtime, *mtime };
	const size_t n = strlen(head);
	int rc = io_write(fd, head, n, 0);

	if (rc == 0 && text)
		rc = layer_copy_view(fd, n, text, view_size(text));
	if (rc == 0 && futimens(fd, times) < 0)
		rc = -errno;
	return rc == 0 ? layer_write_back(layer, fd) : rc;
}

static int put(struct layer *layer, unsigned number, enum layer_key kind, const char *name)
{
	struct layer_transaction change = { .layer = layer, .number = number };
	char staged[LAYER_STAGE_NAME], file[LAYER_FILE_MAX];
	int rc;

	change.dir = layer_open_directory(layer->dir, LAYER_METADATA, true);
	if (change.dir < 0)
		return change.dir;
	layer_stage_name(number, "", staged);
	file_name(kind, name, file);
	rc = layer_transaction_put(&change, staged, file);
	if (rc == 0)
		rc = layer_transaction_sync(&change);
	rc = rc < 0 ? layer_transaction_end(&change, rc) : change_to(&change, kind, name);
	close(change.dir);
	return rc;
}

int layer_write_key(struct layer *layer, enum layer_key kind, const char *name, const char *head,
		    struct view *text, const struct timespec *mtime)
{
	unsigned number;
	const int fd = layer_stage(layer, &number);
	int rc;

	if (fd < 0)
		return fd;
	rc = write_stage(layer, fd, head, text, mtime);
	close(fd);
	if (rc == 0)
		rc = put(layer, number, kind, name);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_erase_key(const struct layer *layer, const char *name)
{
	const int dir = layer_open_directory(layer->dir, LAYER_METADATA, false);
	char file[LAYER_FILE_MAX];
	int rc = 0;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	/* The one that counts goes last. */
	for (int kind = LAYER_KEY_NOTHING - 1; rc == 0 && kind >= 0; kind--) {
		file_name((enum layer_key)kind, name, file);
		if (unlinkat(dir, file, 0) < 0 && errno != ENOENT)
			rc = -errno;
	}
	close(dir);
	return rc;
}

/* The directory, where the layer says something of the key; -ENOENT: it does not. */
static int find_key_file(struct layer *layer, const char *name)
{
	const int dir =
		layer->dir < 0 ? -ENOENT : layer_open_directory(layer->dir, LAYER_METADATA, false);
	char file[LAYER_FILE_MAX];
	int there = 0;

	if (dir < 0)
		return dir;
	for (enum layer_key kind = 0; there == 0 && kind < LAYER_KEY_NOTHING; kind++) {
		file_name(kind, name, file);
		there = layer_has_file(dir, file);
	}
	if (there > 0)
		return dir;
	close(dir);
	return there < 0 ? there : -ENOENT;
}

int layer_revert_key(struct layer *layer, const char *name)
{
	struct layer_transaction change = { .layer = layer };
	int rc;

	change.dir = find_key_file(layer, name);
	if (change.dir < 0)
		return change.dir == -ENOENT ? 0 : change.dir;
	rc = layer_unused_stage_number(layer, &change.number);
	if (rc == 0)
		rc = change_to(&change, LAYER_KEY_NOTHING, name);
	close(change.dir);
	return rc;
}

/* The key that a file says something of, and what. NULL: it is none of ours. */
static const char *parse_name(const char *entry, enum layer_key *kind)
{
	for (*kind = 0; *kind < LAYER_KEY_TEXT; (*kind)++) {
		const size_t n = strlen(prefixes[*kind]);

		if (strncmp(entry, prefixes[*kind], n) == 0 && entry[n])
			return entry + n;
	}
	return entry[0] == '.' ? NULL : entry;
}

/* 1 or 0, or -errno. */
static int is_superseded(int dir, enum layer_key kind, const char *name)
{
	int there = 0;

	for (enum layer_key other = 0; there == 0 && other < kind; other++) {
		char file[LAYER_FILE_MAX];

		file_name(other, name, file);
		there = layer_has_file(dir, file);
	}
	return there;
}

static int each_file(struct layer *layer, int dir, const char *entry, layer_key_fn *found,
		     void *context, struct error *err)
{
	struct backing *file = NULL;
	struct error why = { 0 };
	enum layer_key kind;
	const char *name = parse_name(entry, &kind);
	char path[PATH_MAX];
	int fd, rc = name ? is_superseded(dir, kind, name) : 1;

	if (rc < 0)
		return layer_unread(layer, LAYER_METADATA, entry, -rc, err);
	if (rc > 0)
		return 0;
	snprintf(path, sizeof(path), "%s/" LAYER_METADATA "/%s", layer->path, entry);
	fd = layer_open_file(dir, entry);
	if (fd < 0)
		error_set(&why, -fd, ERROR_NO_OFFSET, "%s", layer_open_error(fd));
	else
		file = backing_fdopen(fd, path, &why);
	rc = found(context, kind, name, file, &why);
	if (rc < 0)
		*err = why;
	return rc;
}

int layer_each_key(struct layer *layer, layer_key_fn *found, void *context, struct error *err)
{
	int listed, rc = 0;
	DIR *entries = layer_list(layer->dir, LAYER_METADATA, &listed);
	const char *entry;

	while ((entry = layer_list_next(entries, &listed)))
		if (rc == 0)
			rc = each_file(layer, dirfd(entries), entry, found, context, err);
	return rc == 0 && listed < 0 ? layer_unread(layer, LAYER_METADATA, NULL, -listed, err) : rc;
}
