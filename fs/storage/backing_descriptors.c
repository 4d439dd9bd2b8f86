/* SPDX-License-Identifier: MIT */
/* backing_descriptors.c - see backing.h: the descriptors of a backing's file. A file has one for
 * long reads and one without read-ahead for small pieces. They stay open as long as the backing, or
 * an LRU cache (fd_cache.h) closes them and opens them again. */
#include "fs/storage/backing_internal.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* O_NONBLOCK: open() of a FIFO would wait for a writer. */
int backing_open_file(const char *path, int flags)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

	return fd < 0 ? -errno : fd;
}

/* Open the file of fd a second time, without read-ahead. Returns a descriptor or -errno. */
static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = backing_open_file(path, 0);
	if (again >= 0)
		posix_fadvise(again, 0, 0, POSIX_FADV_RANDOM);
	return again;
}

/* Reopen a file of a set. Returns a descriptor, or -ESTALE if the path leads to another file or the
 * file was changed. */
static int reopen(const struct backing *backing)
{
	const int fd = backing_open_file(backing->path, 0);
	struct stat now;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && paths_same_file(&now, &backing->stat))
		return fd;
	close(fd);
	return -ESTALE;
}

static int reopen_file(struct fd_cache_entry *descriptor)
{
	const struct backing *backing =
		(const struct backing *)((const char *)descriptor - offsetof(struct backing, file));
	const int fd = reopen(backing);

	if (fd >= 0)
		file_use_announce(fd, backing->use);
	return fd;
}

/* Reopen by the open descriptor, as the path may lead elsewhere. Called with the set locked. */
static int reopen_spans(struct fd_cache_entry *descriptor)
{
	const struct backing *backing = (const struct backing *)((const char *)descriptor -
								 offsetof(struct backing, spans));
	int fd = backing->file.fd >= 0 ? open_again(backing->file.fd) : -1;

	if (fd >= 0)
		return fd;
	fd = reopen(backing);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

void backing_join_cache(struct backing *backing, struct fd_cache *set, enum file_use use)
{
	backing_announce(backing, use);
	backing->use = use;
	backing->file.open = reopen_file;
	backing->spans.open = reopen_spans;
	backing->set = fd_cache_ref(set);
	fd_cache_add(set, &backing->file);
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

void backing_close_files(struct backing *backing)
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

/* Read-ahead is a property of the open file description, so small pieces need their own. If the
 * file cannot be opened again, the first descriptor serves both. */
static int open_spans(struct backing *backing)
{
	pthread_mutex_lock(&backing->lock);
	if (backing->spans.fd < 0)
		backing->spans.fd = open_again(backing->file.fd);
	if (backing->spans.fd < 0)
		backing->spans.fd = backing->file.fd;
	pthread_mutex_unlock(&backing->lock);
	return backing->spans.fd;
}

const char *backing_fd_error(const struct backing *backing, int rc)
{
	if (!backing->set)
		return "the file is missing";
	if (rc == -ESTALE)
		return "the file was replaced or written to";
	return backing_is_revoked(backing) ? "its file or link was removed" : strerror(-rc);
}

int backing_get_fd(struct backing *backing, unsigned flags)
{
	const bool spans = flags & BACKING_SPANS;
	struct fd_cache_entry *entry;

	if (!backing->set && backing->file.fd < 0)
		return -EIO;
	if (!backing->set)
		return spans ? open_spans(backing) : backing->file.fd;
	entry = spans ? &backing->spans : &backing->file;
	return flags & BACKING_AT_ONCE ? fd_cache_get_open(backing->set, entry)
				       : fd_cache_get(backing->set, entry);
}

void backing_put_fd(struct backing *backing, unsigned flags)
{
	if (backing->set)
		fd_cache_put(backing->set,
			     flags & BACKING_SPANS ? &backing->spans : &backing->file);
}

int backing_fd_get(struct backing *backing)
{
	const int fd = backing->composed ? -1 : backing_get_fd(backing, 0);

	return fd < 0 ? -1 : fd;
}

void backing_fd_put(struct backing *backing)
{
	backing_put_fd(backing, 0);
}
