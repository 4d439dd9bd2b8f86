/* SPDX-License-Identifier: MIT */
/* layer.c - see layer.h: the directory, whose it is and how long. */
#include "fs/base/fingerprint.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_label.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_order.h"
#include "fs/layer/layer_trust.h"
#include "fs/storage/backing.h"
#include "fs/util/io.h"
#include "fs/util/paths.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* So many mounts of one base at a time have a private layer each. */
#define PRIVATE_LAYERS 1000

static void empty_layer(int dir)
{
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		paths_remove_directory(dir, class_name(klass));
	paths_remove_directory(dir, LAYER_METADATA);
	paths_remove_directory(dir, ".stage");
	unlinkat(dir, "MOVING", 0);
	unlinkat(dir, "UNDOING", 0);
	unlinkat(dir, LAYER_MERGE, 0);
	unlinkat(dir, LAYER_LABEL_NEW, 0);
}

/* Open and lock a directory: against everybody, or against those who would write. -EBUSY: it is in
 * use. */
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

/* Make the directory of that name the layer, unless another mount or other grafts have it. */
static int make_named(struct layer *layer, const char *name)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", layer->state, name) < 0)
		return -ENOMEM;
	rc = layer_open_locked(path, true);
	if (rc >= 0 && (faccessat(rc, "LAYER", F_OK, 0) == 0 || errno != ENOENT)) {
		close(rc);
		rc = -EBUSY;
	}
	if (rc < 0) {
		free(path);
		return rc;
	}
	layer->dir = rc;
	layer->path = path;
	return 0;
}

/* Make a private layer, under the first name that is free. */
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
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	layer_group_init(&layer->group, manner->log);
	atomic_init(&layer->order, 0);
	pthread_mutex_init(&layer->compress_lock, NULL);
	pthread_mutex_init(&layer->lock, NULL);
	layer->manner = *manner;
	layer->base = backing_ref(base);
	layer->gguf = gguf;
	layer->dir = -1;
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
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		layer_close(layer);
		return NULL;
	}
	layer->place = layer_base_path(base);
	if (!manner->fresh)
		layer_recover_private(layer);
	if (layer->dir >= 0)
		paths_remove_directory(layer->dir, ".stage");
	return layer;
}

/* Is there nothing in the directory, but for what an interrupted layer_label_write() left? -errno:
 * that cannot be told. */
static int holds_nothing(int dir)
{
	int rc;
	DIR *entries = layer_list(dir, ".", &rc);
	const bool listed = entries != NULL;
	bool nothing = true;
	const char *entry;

	while ((entry = layer_list_next(entries, &rc)))
		nothing &= strcmp(entry, LAYER_LABEL_NEW) == 0;
	return listed ? nothing : rc;
}

/* The directory is open and locked: is it the base's layer, or can it become that? */
static int move_in(struct layer *layer, struct error *err)
{
	int rc = layer_label_check(layer->dir, layer->base, layer->gguf, err);

	if (rc != -ENOENT)
		return rc;
	rc = holds_nothing(layer->dir);
	if (rc == 0)
		return error_set(err, ENOTEMPTY, ERROR_NO_OFFSET,
				 "this directory is no layer, for it has no file LAYER, and is not "
				 "empty either");
	if (rc > 0 && !layer->manner.read_only)
		rc = layer_label_write(layer->dir, layer->base, layer->gguf, NULL);
	return rc < 0 ? error_set(err, -rc, ERROR_NO_OFFSET, "%s", strerror(-rc)) : 0;
}

/* Returns 0, also where there is no directory and none is to be made. */
static int open_at_path(struct layer *layer, const char *path, struct error *err)
{
	const bool read_only = layer->manner.read_only;
	int rc = read_only ? 0 : paths_mkdir(path);

	if (rc == 0)
		rc = lock_directory(path, 0, read_only);
	if (rc == -EBUSY)
		return error_set(err, EBUSY, ERROR_NO_OFFSET, "another mount uses this layer");
	if (rc >= 0) {
		layer->dir = rc;
		layer->path = realpath(path, NULL);
		layer->past.doubt = layer_trust_doubt(rc);
		return layer->path ? move_in(layer, err)
				   : error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
	}
	if (rc != -ENOENT || !read_only)
		return error_set(err, -rc, ERROR_NO_OFFSET, "%s", strerror(-rc));
	layer->path = strdup(path);
	return layer->path ? 0 : error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
}

static void release_directory(struct layer *layer)
{
	close(layer->dir);
	layer->dir = -1;
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
		/* Nothing of it is touched. */
		if (layer->dir >= 0)
			release_directory(layer);
		layer_close(layer);
		return NULL;
	}
	if (layer->dir >= 0 && !manner->read_only)
		paths_remove_directory(layer->dir, ".stage");
	return layer;
}

int layer_ensure(struct layer *layer)
{
	int rc;

	if (layer->dir >= 0)
		return 0;
	if (!layer->state)
		return -EROFS;
	rc = paths_mkdir(layer->state);
	if (rc == 0)
		rc = make_private(layer);
	if (rc < 0)
		return rc;
	empty_layer(layer->dir);
	rc = layer_label_write(layer->dir, layer->base, layer->gguf, layer->place);
	if (rc == 0)
		rc = paths_fsync_directory(layer->state);
	if (rc < 0) {
		/* The next mount would take this one up, and not the one that is made instead. */
		layer_label_remove(layer->dir);
		release_directory(layer);
	}
	return rc;
}

bool layer_is_ordered(struct layer *layer)
{
	int order = atomic_load(&layer->order);

	if (!order) {
		order = layer_order_is_kept(layer->dir) ? LAYER_ORDERED : LAYER_UNORDERED;
		atomic_store(&layer->order, order);
	}
	return order == LAYER_ORDERED;
}

int layer_write_back(struct layer *layer, int fd)
{
	const unsigned all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	/* Where order is kept the bytes have to be on the disk before the rename, and no more. */
	if (layer_is_ordered(layer)) {
		if (sync_file_range(fd, 0, 0, all) == 0)
			return 0;
		/* What it has said of lost bytes, fsync() does not say again. */
		if (errno != ENOSYS && errno != EINVAL)
			return -errno;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

int layer_create_text(struct layer *layer, const char *name, const char *text, size_t n,
		      bool durable)
{
	const int fd = layer_create_file(layer->dir, name);
	int rc;

	if (fd < 0)
		return fd;
	rc = io_write(fd, text, n, 0);
	if (rc == 0 && durable)
		rc = layer_write_back(layer, fd);
	close(fd);
	if (rc < 0)
		unlinkat(layer->dir, name, 0);
	return rc;
}

int layer_flush(struct layer *layer)
{
	bool has_directory;

	pthread_mutex_lock(&layer->lock);
	has_directory = layer->dir >= 0 && !layer->manner.read_only;
	pthread_mutex_unlock(&layer->lock);
	return has_directory ? layer_group_flush(&layer->group, layer_is_ordered(layer)) : 0;
}

void layer_rest(struct layer *layer)
{
	layer_group_rest(&layer->group);
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

/* Of a path in a sentence, the end. */
#define PATH_SHOWN ((size_t)100)

int layer_unread(struct layer *layer, const char *directory, const char *file, int code,
		 struct error *err)
{
	const char *path = layer_path(layer);
	const size_t n = strlen(path);

	return error_set(err, code, ERROR_NO_OFFSET, "its layer cannot be read: %s%s/%s%s%.60s: %s",
			 n > PATH_SHOWN ? "..." : "",
			 n > PATH_SHOWN ? path + (n - PATH_SHOWN) : path, directory,
			 file ? "/" : "", file ? file : "", strerror(code));
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

void layer_set_time(struct layer *layer, const char *directory, const struct timespec *mtime)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *mtime };

	pthread_mutex_lock(&layer->lock);
	if (layer->dir >= 0)
		utimensat(layer->dir, directory, times, AT_SYMLINK_NOFOLLOW);
	pthread_mutex_unlock(&layer->lock);
}

bool layer_time(struct layer *layer, const char *directory, struct timespec *mtime)
{
	struct stat stat;
	bool there;

	pthread_mutex_lock(&layer->lock);
	there = layer->dir >= 0 &&
		fstatat(layer->dir, directory, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(stat.st_mode);
	pthread_mutex_unlock(&layer->lock);
	if (there)
		*mtime = stat.st_mtim;
	return there;
}

int layer_delete(struct layer *layer)
{
	int rc = 0;

	pthread_mutex_lock(&layer->lock);
	if (layer->dir >= 0 && layer->state) {
		/* First what makes it a layer: an interrupted drop must not leave half of one. */
		rc = layer_label_remove(layer->dir);
		if (rc == 0) {
			empty_layer(layer->dir);
			/* Files of other programs stay; the grafts are gone. */
			if (rmdir(layer->path) < 0 && errno != ENOTEMPTY && errno != EEXIST)
				rc = -errno;
			/* From here on a directory of that name is another mount's. */
			release_directory(layer);
		}
	}
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

static bool is_empty(const struct layer *layer)
{
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (faccessat(layer->dir, class_name(klass), F_OK, 0) == 0 || errno != ENOENT)
			return false;
	return faccessat(layer->dir, LAYER_METADATA, F_OK, 0) < 0 && errno == ENOENT &&
	       faccessat(layer->dir, LAYER_MERGE, F_OK, 0) < 0 && errno == ENOENT;
}

void layer_close(struct layer *layer)
{
	if (!layer)
		return;
	layer_group_destroy(&layer->group);
	if (layer->dir >= 0 && layer->state && is_empty(layer))
		layer_delete(layer);
	if (layer->dir >= 0 && !layer->manner.read_only)
		paths_remove_directory(layer->dir, ".stage");
	if (layer->dir >= 0)
		release_directory(layer);
	backing_unref(layer->base);
	pthread_mutex_destroy(&layer->lock);
	pthread_mutex_destroy(&layer->compress_lock);
	free(layer->path);
	free(layer->state);
	free(layer->place);
	free(layer->past.copy);
	free(layer->past.copy_layer);
	free(layer->past.doubtful);
	free(layer);
}
