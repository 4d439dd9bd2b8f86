/* SPDX-License-Identifier: MIT */
/* layer.c - see layer.h: the layer's directory, its lock and its life. */
#include "fs/base/fingerprint.h"
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_base.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_trust.h"
#include "fs/storage/backing.h"
#include "fs/util/disk.h"
#include "fs/util/paths.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* most private layers of one base in use at the same time */
#define PRIVATE_LAYERS 1000

/* Remove all files of a layer except layer.db, which the caller has removed before. */
static void empty_directory(int dir)
{
	static const char *const files[] = {
		RESERVE,      DATABASE "-wal",	   DATABASE "-journal",
		DATABASE_NEW, DATABASE_NEW "-wal", DATABASE_NEW "-journal"
	};

	paths_remove_directory(dir, "blobs");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(dir, files[i], 0);
}

/* Open and lock a directory, exclusively or against writers only. -EBUSY: another mount uses it. */
static int lock_directory(const char *path, int flags, bool shared)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	struct stat stat;

	if (fd < 0)
		return -errno;
	if (flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0 || fstat(fd, &stat) < 0 ||
	    stat.st_nlink == 0) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

int layer_open_locked(const char *path, bool make)
{
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return lock_directory(path, O_NOFOLLOW, false);
}

/* Does the directory contain a layer? It then belongs to another mount or to other grafts. */
static bool is_taken(int dir)
{
	return (faccessat(dir, DATABASE, F_OK, 0) == 0 || errno != ENOENT) ||
	       (faccessat(dir, "LAYER", F_OK, 0) == 0 || errno != ENOENT);
}

/* Make the directory of that name for the layer, unless it is taken. */
static int make_named(struct layer *layer, const char *name)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", layer->state, name) < 0)
		return -ENOMEM;
	rc = layer_open_locked(path, true);
	if (rc >= 0 && is_taken(rc)) {
		close(rc);
		rc = -EBUSY;
	}
	if (rc < 0) {
		free(path);
		return rc;
	}
	pthread_mutex_lock(&layer->lock);
	layer->dir = rc;
	layer->path = path;
	pthread_mutex_unlock(&layer->lock);
	return 0;
}

/* Make the directory of a private layer under the first free name. */
static int make_private(struct layer *layer)
{
	char key[FINGERPRINT_KEY], name[FINGERPRINT_KEY + 16];
	int rc = fingerprint_key(layer->base, key);

	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "%s", key);
	for (int i = 2; i <= PRIVATE_LAYERS; i++) {
		rc = make_named(layer, name);
		if (rc != -EBUSY)
			return rc;
		snprintf(name, sizeof(name), "%s-%d", key, i);
	}
	return rc;
}

static struct layer *layer_new(const struct layer_options *manner, struct backing *base,
			       const struct gguf *gguf, struct error *err)
{
	struct layer *layer = calloc(1, sizeof(*layer));

	if (!layer) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	layer_queue_init(&layer->queue);
	pthread_mutex_init(&layer->compress_lock, NULL);
	pthread_mutex_init(&layer->lock, NULL);
	layer->manner = *manner;
	layer->base = backing_ref(base);
	layer->gguf = gguf;
	layer->dir = layer->blobs = -1;
	return layer;
}

struct layer *layer_open_private(const char *state, const struct layer_options *manner,
				 struct backing *base, const struct gguf *gguf, struct error *err)
{
	struct layer *layer = layer_new(manner, base, gguf, err);

	if (!layer)
		return NULL;
	layer->state = strdup(state);
	if (!layer->state) {
		error_errno(err, ENOMEM);
		layer_close(layer);
		return NULL;
	}
	layer->place = layer_base_path(base);
	if (!manner->fresh)
		layer_recover_private(layer);
	if (layer->dir < 0 || layer_take_up(layer, err) == 0)
		return layer;
	layer->is_unreadable = true;
	layer_close(layer);
	return NULL;
}

bool layer_exists(struct layer *layer)
{
	bool exists;

	pthread_mutex_lock(&layer->lock);
	exists = layer->exists;
	pthread_mutex_unlock(&layer->lock);
	return exists;
}

/* Is the directory empty, apart from files of an interrupted layer_make_database()? 1, 0 or
 * -errno. */
static int holds_nothing(int dir)
{
	int rc;
	DIR *entries = layer_list(dir, ".", &rc);
	const bool listed = entries != NULL;
	bool nothing = true;
	const char *entry;

	while ((entry = layer_list_next(entries, &rc)))
		nothing &= strncmp(entry, DATABASE_NEW, strlen(DATABASE_NEW)) == 0;
	return listed ? nothing : rc;
}

/* Take up the directory as the base's layer, or make it one. */
static int move_in(struct layer *layer, struct error *err)
{
	int rc = is_taken(layer->dir) ? 1 : holds_nothing(layer->dir);

	if (rc < 0)
		return error_errno(err, -rc);
	if (is_taken(layer->dir))
		return layer_take_up(layer, err);
	if (rc == 0)
		return error_set(err, ENOTEMPTY, ERROR_NO_OFFSET,
				 "not a layer: it has no " DATABASE
				 " and is not empty; name a new or empty directory");
	return layer->manner.read_only ? 0 : layer_make_database(layer, err);
}

static void note_doubt(struct layer_history *past, const char *path, const char *why)
{
	if (asprintf(&past->doubt, "warning: the layer %s may contain changes by other users: %s",
		     path, why) < 0)
		past->doubt = NULL;
}

/* Returns 0, also for a read-only layer that does not exist. */
static int open_at_path(struct layer *layer, const char *path, struct error *err)
{
	const bool read_only = layer->manner.read_only;
	const char *doubt;
	int rc = read_only ? 0 : paths_mkdir(path);

	if (rc == 0)
		rc = lock_directory(path, 0, read_only);
	if (rc == -EBUSY)
		return error_set(err, EBUSY, ERROR_NO_OFFSET,
				 "another mount uses this layer; see organfs --list");
	if (rc >= 0) {
		layer->dir = rc;
		layer->path = realpath(path, NULL);
		if (!layer->path)
			return error_errno(err, errno);
		doubt = layer_trust_doubt(rc);
		if (doubt)
			note_doubt(&layer->past, layer->path, doubt);
		return move_in(layer, err);
	}
	if (rc != -ENOENT || !read_only)
		return error_errno(err, -rc);
	layer->path = strdup(path);
	return layer->path ? 0 : error_errno(err, ENOMEM);
}

static void release_directory(struct layer *layer)
{
	if (layer->blobs >= 0)
		close(layer->blobs);
	close(layer->dir);
	layer->dir = layer->blobs = -1;
	layer->exists = layer->has_reserve = false;
	layer->timed = 0;
	free(layer->path);
	layer->path = NULL;
}

struct layer *layer_open_at(const char *path, const struct layer_options *manner,
			    struct backing *base, const struct gguf *gguf, struct error *err)
{
	struct layer *layer = layer_new(manner, base, gguf, err);

	if (!layer)
		return NULL;
	if (open_at_path(layer, path, err) < 0) {
		layer_rest(layer);
		/* Leave its files as they are. */
		if (layer->dir >= 0)
			release_directory(layer);
		layer_close(layer);
		return NULL;
	}
	return layer;
}

/* Called with database_lock held. */
static int make(struct layer *layer)
{
	struct error err = { 0 };
	int rc = paths_mkdir(layer->state);

	if (rc == 0)
		rc = make_private(layer);
	if (rc < 0)
		return rc;
	empty_directory(layer->dir);
	rc = paths_fsync_directory(layer->state);
	/* Set last, because other threads then use the layer. */
	if (rc == 0)
		rc = layer_make_database(layer, &err);
	if (rc == 0)
		return 0;
	/* Remove it, else the next mount would take it up instead of the layer made in its
	 * place. */
	layer_close_database(layer);
	unlinkat(layer->dir, DATABASE, 0);
	empty_directory(layer->dir);
	rmdir(layer->path);
	pthread_mutex_lock(&layer->lock);
	release_directory(layer);
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

int layer_make(struct layer *layer)
{
	int rc = 0;

	if (layer_exists(layer))
		return 0;
	pthread_mutex_lock(&layer->queue.database_lock);
	if (!layer_exists(layer))
		rc = layer->state ? make(layer) : -EROFS;
	pthread_mutex_unlock(&layer->queue.database_lock);
	return rc;
}

void layer_rest(struct layer *layer)
{
	pthread_mutex_lock(&layer->queue.database_lock);
	layer_close_database(layer);
	pthread_mutex_unlock(&layer->queue.database_lock);
}

const struct layer_history *layer_history(const struct layer *layer)
{
	return &layer->past;
}

const char *layer_home(const struct layer *layer)
{
	return layer->state;
}

bool layer_is_read_only(const struct layer *layer)
{
	return layer->manner.read_only;
}

const char *layer_path(struct layer *layer)
{
	const char *path;

	pthread_mutex_lock(&layer->lock);
	path = layer->path ? layer->path : layer->state;
	pthread_mutex_unlock(&layer->lock);
	return path;
}

const char *layer_why(struct layer *layer, const struct error *err, int rc, char text[LAYER_WHY])
{
	const bool full = layer && (rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS);

	if (err && err->code)
		return error_describe(err, text, LAYER_WHY);
	snprintf(text, LAYER_WHY, "%s%s%s", strerror(-rc), full ? " in " : "",
		 full ? layer_path(layer) : "");
	return text;
}

/* number of a path's last characters that messages show */
#define PATH_SHOWN ((size_t)100)

int layer_unread(struct layer *layer, int code, struct error *err)
{
	const char *path = layer_path(layer);
	const size_t n = strlen(path);

	return error_set(err, code, ERROR_NO_OFFSET,
			 "its layer cannot be read: %s%s/" DATABASE ": %s",
			 n > PATH_SHOWN ? "..." : "",
			 n > PATH_SHOWN ? path + (n - PATH_SHOWN) : path,
			 code == EBADMSG ? "the database is damaged" : strerror(code));
}

bool layer_directory(struct layer *layer, char path[PATH_MAX])
{
	bool there;

	pthread_mutex_lock(&layer->lock);
	there = layer->path != NULL;
	snprintf(path, PATH_MAX, "%s", there ? layer->path : "");
	pthread_mutex_unlock(&layer->lock);
	return there;
}

void layer_owner(const struct layer *layer, uid_t *uid, gid_t *gid)
{
	struct stat stat;

	/* The owner in a row is trusted only if root mounts the layer and owns layer.db. */
	if (fstatat(layer->dir, DATABASE, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		stat.st_uid = stat.st_gid = (uid_t)-1;
	if (geteuid() == 0 && stat.st_uid == 0)
		return;
	*uid = stat.st_uid;
	*gid = stat.st_gid;
}

int layer_delete(struct layer *layer)
{
	int rc = 0;

	layer_rest(layer);
	pthread_mutex_lock(&layer->lock);
	if (layer->dir >= 0 && layer->state) {
		/* Delete layer.db first: a directory without it is not a layer, so an interrupted
		 * deletion leaves no partial layer. */
		if (unlinkat(layer->dir, DATABASE, 0) < 0 && errno != ENOENT)
			rc = -errno;
		if (rc == 0)
			rc = disk_sync_directory(layer->dir);
		if (rc == 0) {
			empty_directory(layer->dir);
			/* The grafts are deleted; files of other programs stay. */
			if (rmdir(layer->path) < 0 && errno != ENOTEMPTY && errno != EEXIST)
				rc = -errno;
			/* Another mount may now use the directory's name. */
			release_directory(layer);
		}
	}
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

static int say_number(struct layer *layer, sqlite3_stmt *row, void *context)
{
	int64_t *number = context;

	(void)layer;
	*number = sqlite3_column_int64(row, 0);
	return 0;
}

/* Has the layer no changes? */
static bool is_empty(struct layer *layer)
{
	int64_t holds_changes = 0;
	const int rc =
		layer_query(layer, say_number, &holds_changes, "SELECT " LAYER_HOLDS_CHANGES, "");

	return rc == 0 && !holds_changes;
}

void layer_close(struct layer *layer)
{
	if (!layer)
		return;
	if (layer->dir >= 0 && layer->state && !layer->is_unreadable && is_empty(layer))
		layer_delete(layer);
	layer_queue_destroy(&layer->queue);
	if (layer->dir >= 0)
		release_directory(layer);
	backing_unref(layer->base);
	pthread_mutex_destroy(&layer->lock);
	pthread_mutex_destroy(&layer->compress_lock);
	free(layer->path);
	free(layer->state);
	free(layer->place);
	free(layer->past.doubt);
	free(layer->past.unread);
	free(layer->past.copy);
	free(layer);
}
