/* SPDX-License-Identifier: MIT */
/* backing.c - see backing.h: a backing's life, and what is known of it without reading. */
#include "fs/storage/backing_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_REGULAR "this is not a regular file"

/* Nothing is open yet. NULL with err set: out of memory. */
static struct backing *backing_new(const char *path, struct error *err)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (backing) {
		atomic_init(&backing->refs, 1);
		pthread_mutex_init(&backing->lock, NULL);
		backing->file.fd = backing->spans.fd = -1;
		backing->path = strdup(path);
	}
	if (backing && backing->path)
		return backing;
	error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	backing_unref(backing);
	return NULL;
}

struct backing *backing_fdopen(int fd, const char *path, struct error *err)
{
	struct backing *backing = backing_new(path, err);

	if (!backing) {
		close(fd);
		return NULL;
	}
	backing->file.fd = fd;
	if (fstat(fd, &backing->stat) < 0) {
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
	} else if (!S_ISREG(backing->stat.st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, NOT_REGULAR);
	} else {
		backing->size = (uint64_t)backing->stat.st_size;
		return backing;
	}
	backing_unref(backing);
	return NULL;
}

static int read_frames(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset)
{
	struct backing *backing = context;
	struct error err = { 0 };
	const int rc = (flags & BACKING_UNVERIFIED
				? zstd_seekable_peek
				: zstd_seekable_read)(backing->frames, bytes, n, offset, &err);
	char text[320];

	if (rc == -EIO)
		backing_fail(backing, error_describe(&err, text, sizeof(text)));
	return rc;
}

static void release_frames(void *context)
{
	zstd_seekable_close(((struct backing *)context)->frames);
}

struct backing *backing_fdopen_zstd(int fd, const char *path, struct zstd_cache *cache,
				    struct error *err)
{
	struct backing *backing = backing_fdopen(fd, path, err);

	if (!backing)
		return NULL;
	backing->frames = zstd_seekable_open(fd, cache, err);
	if (!backing->frames) {
		backing_unref(backing);
		return NULL;
	}
	backing->ops = (struct backing_ops){ .read = read_frames,
					     .release = release_frames,
					     .context = backing };
	backing->size = zstd_seekable_size(backing->frames);
	return backing;
}

/* Without O_NONBLOCK a FIFO of that name would wait for a writer. */
static int open_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int backing_open_spans(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open_file(path);
	if (again >= 0)
		posix_fadvise(again, 0, 0, POSIX_FADV_RANDOM);
	return again;
}

struct backing *backing_open(const char *path, struct error *err)
{
	struct backing *backing;
	struct stat before;
	char *real;
	int fd;

	/* A device may do something when it is opened, and a layer that another user made may name
	 * one. */
	if (stat(path, &before) == 0 && !S_ISREG(before.st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, NOT_REGULAR);
		return NULL;
	}
	fd = open_file(path);
	if (fd < 0) {
		error_set(err, -fd, ERROR_NO_OFFSET, "%s", strerror(-fd));
		return NULL;
	}
	real = realpath(path, NULL);
	backing = backing_fdopen(fd, real ? real : path, err);
	free(real);
	return backing;
}

/* For a descriptor of a set: the file that it was, or -ESTALE. */
static int reopen(const struct backing *backing)
{
	const int fd = open_file(backing->path);
	struct stat now;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && now.st_dev == backing->stat.st_dev &&
	    now.st_ino == backing->stat.st_ino && backing_is_unchanged(backing, &now))
		return fd;
	close(fd);
	return -ESTALE;
}

static int reopen_file(struct fd_cache_entry *descriptor)
{
	return reopen((const struct backing *)((const char *)descriptor -
					       offsetof(struct backing, file)));
}

/* By the open file, where that is open: its name may be another's. The set is locked. */
static int reopen_spans(struct fd_cache_entry *descriptor)
{
	const struct backing *backing = (const struct backing *)((const char *)descriptor -
								 offsetof(struct backing, spans));
	int fd = backing->file.fd >= 0 ? backing_open_spans(backing->file.fd) : -1;

	if (fd >= 0)
		return fd;
	fd = reopen(backing);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

struct backing *backing_open_cached(struct fd_cache *set, const char *path, struct error *err)
{
	struct backing *backing = backing_open(path, err);

	if (!backing)
		return NULL;
	backing->file.open = reopen_file;
	backing->spans.open = reopen_spans;
	backing->set = fd_cache_ref(set);
	fd_cache_add(set, &backing->file);
	return backing;
}

void backing_revoke(struct backing *backing)
{
	if (!backing->set)
		return;
	atomic_store(&backing->ended, true);
	fd_cache_remove(backing->set, &backing->file);
	fd_cache_remove(backing->set, &backing->spans);
}

bool backing_is_revoked(const struct backing *backing)
{
	return atomic_load(&backing->ended);
}

struct backing *backing_from_ops(const struct backing_ops *parts, const char *path,
				 const struct stat *stat)
{
	struct error err;
	struct backing *backing = backing_new(path, &err);

	if (!backing) {
		parts->release(parts->context);
		return NULL;
	}
	backing->ops = *parts;
	backing->composed = true;
	backing->stat = *stat;
	backing->size = (uint64_t)stat->st_size;
	return backing;
}

struct backing *backing_file_at(struct backing *backing, uint64_t *offset, uint64_t *length)
{
	if (backing->ops.part)
		return backing->ops.part(backing->ops.context, offset, length);
	return backing->composed ? NULL : backing;
}

struct backing *backing_new_missing(const char *path, uint64_t size)
{
	struct error err;
	struct backing *backing = backing_new(path, &err);

	if (backing)
		backing->size = size;
	return backing;
}

struct backing *backing_ref(struct backing *backing)
{
	atomic_fetch_add(&backing->refs, 1);
	return backing;
}

static void close_files(struct backing *backing)
{
	if (backing->set) {
		backing_revoke(backing);
		fd_cache_unref(backing->set);
		return;
	}
	if (backing->spans.fd >= 0 && backing->spans.fd != backing->file.fd)
		close(backing->spans.fd);
	if (backing->file.fd >= 0)
		close(backing->file.fd);
}

void backing_unref(struct backing *backing)
{
	if (!backing || atomic_fetch_sub(&backing->refs, 1) != 1)
		return;
	if (backing->ops.read)
		backing->ops.release(backing->ops.context);
	close_files(backing);
	pthread_mutex_destroy(&backing->lock);
	free(backing->path);
	free(backing);
}

const char *backing_path(const struct backing *backing)
{
	return backing->path;
}

const struct stat *backing_stat(const struct backing *backing)
{
	return &backing->stat;
}

uint64_t backing_size(const struct backing *backing)
{
	return backing->size;
}

bool backing_is_plain(const struct backing *backing)
{
	return !backing->ops.read && (backing->set || backing->file.fd >= 0);
}

bool backing_is_computed(const struct backing *backing)
{
	return backing->ops.computed;
}

void backing_set_log(struct backing *backing, struct log *log)
{
	for (uint64_t at = 0, length; backing->ops.part && at < backing->size; at += length) {
		uint64_t offset = at;
		struct backing *part;

		length = backing->size - at;
		part = backing_file_at(backing, &offset, &length);
		/* What is shared with an older set of shards was told before. */
		if (part && !part->log)
			part->log = log;
	}
	backing->log = log;
}

bool backing_has_failed(const struct backing *backing)
{
	return atomic_load(&backing->failed) || atomic_load(&backing->changed);
}
