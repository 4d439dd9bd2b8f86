/* SPDX-License-Identifier: MIT */
/* backing.c - see backing.h. */
#include "fs/backing.h"
#include "fs/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct backing {
	atomic_uint refs;
	int fd;
	char *path;
	struct stat stat;
};

struct backing *backing_adopt(int fd, const char *path, struct error *err)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		close(fd);
		return NULL;
	}
	atomic_init(&backing->refs, 1);
	backing->fd = fd;
	backing->path = realpath(path, NULL);
	if (!backing->path)
		backing->path = strdup(path);
	if (!backing->path || fstat(fd, &backing->stat) < 0) {
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
		backing_unref(backing);
		return NULL;
	}
	if (!S_ISREG(backing->stat.st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, "this is not a regular file");
		backing_unref(backing);
		return NULL;
	}
	return backing;
}

struct backing *backing_open(const char *path, struct error *err)
{
	/* Without O_NONBLOCK a FIFO of that name would wait for a writer. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
		return NULL;
	}
	return backing_adopt(fd, path, err);
}

struct backing *backing_gone(const char *path, uint64_t size)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing)
		return NULL;
	atomic_init(&backing->refs, 1);
	backing->fd = -1;
	backing->path = strdup(path);
	backing->stat.st_size = (off_t)size;
	if (backing->path)
		return backing;
	free(backing);
	return NULL;
}

struct backing *backing_ref(struct backing *backing)
{
	atomic_fetch_add(&backing->refs, 1);
	return backing;
}

void backing_unref(struct backing *backing)
{
	if (!backing || atomic_fetch_sub(&backing->refs, 1) != 1)
		return;
	if (backing->fd >= 0)
		close(backing->fd);
	free(backing->path);
	free(backing);
}

/* Asked after the bytes were read: what was read before a change is good. */
int backing_check(struct backing *backing)
{
	struct stat now;

	if (backing->fd < 0 || fstat(backing->fd, &now) < 0)
		return -EIO;
	if (now.st_size != backing->stat.st_size ||
	    now.st_mtim.tv_sec != backing->stat.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != backing->stat.st_mtim.tv_nsec)
		return -EIO;
	return 0;
}

int backing_peek(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	ssize_t got;

	if (backing->fd < 0 || offset > INT64_MAX - n)
		return -EIO;
	got = io_read(backing->fd, bytes, n, offset);
	return got < 0 || (size_t)got < n ? -EIO : 0;
}

int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	const int rc = backing_peek(backing, bytes, n, offset);

	return rc < 0 ? rc : backing_check(backing);
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
	return (uint64_t)backing->stat.st_size;
}

int backing_fd(const struct backing *backing)
{
	return backing->fd;
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	return backing_read(context, bytes, n, offset);
}

struct source backing_source(struct backing *backing)
{
	return (struct source){ source_read_at, backing, backing_size(backing) };
}
