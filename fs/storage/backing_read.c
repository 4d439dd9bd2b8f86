/* SPDX-License-Identifier: MIT */
/* backing_read.c - reading a backing, see backing.h. */
#include "fs/storage/backing_internal.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static const char changed[] = "the file was changed since it was opened";

int backing_fail(struct backing *backing, const char *why)
{
	/* A disk that cannot read and a file that was changed are two causes. Of what was changed
	 * nothing else is told: it follows from that. */
	const bool first = why == changed ? !atomic_exchange(&backing->changed, true)
					  : !atomic_exchange(&backing->failed, true) &&
						    !atomic_load(&backing->changed);

	if (first && backing->log)
		log_add(backing->log, "%s: cannot be read: %s", backing->path, why);
	return -EIO;
}

bool backing_is_unchanged(const struct backing *backing, const struct stat *now)
{
	return now->st_size == backing->stat.st_size &&
	       now->st_mtim.tv_sec == backing->stat.st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == backing->stat.st_mtim.tv_nsec;
}

/* The same open file would read ahead for one what it must not for the other. Where the file cannot
 * be opened once more, it does. */
static int open_spans(struct backing *backing)
{
	char path[32];

	pthread_mutex_lock(&backing->lock);
	if (backing->spans.fd < 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", backing->file.fd);
		backing->spans.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (backing->spans.fd < 0)
			backing->spans.fd = backing->file.fd;
		else
			posix_fadvise(backing->spans.fd, 0, 0, POSIX_FADV_RANDOM);
	}
	pthread_mutex_unlock(&backing->lock);
	return backing->spans.fd;
}

int backing_read_fd_get(struct backing *backing, bool spans, const char **why)
{
	int fd;

	*why = "there is no file";
	if (!backing->set && backing->file.fd < 0)
		return -EIO;
	if (!backing->set)
		return spans ? open_spans(backing) : backing->file.fd;
	fd = fd_cache_get(backing->set, spans ? &backing->spans : &backing->file);
	if (fd == -ESTALE)
		*why = "another file has its name now, or it was written to";
	else if (fd < 0)
		*why = strerror(-fd);
	return fd;
}

void backing_read_fd_put(struct backing *backing, bool spans)
{
	if (backing->set)
		fd_cache_put(backing->set, spans ? &backing->spans : &backing->file);
}

struct backing *backing_first_readable(struct backing *backing)
{
	struct backing *part = NULL;

	for (uint64_t at = 0, length; !part && at < backing->size; at += length) {
		uint64_t offset = at;

		length = backing->size - at;
		part = backing_file_at(backing, &offset, &length);
		if (part && backing_is_revoked(part))
			part = NULL;
	}
	return part;
}

int backing_fd_get(struct backing *backing)
{
	const char *why;
	const int fd = backing->ops.read ? -1 : backing_read_fd_get(backing, false, &why);

	return fd < 0 ? -1 : fd;
}

void backing_fd_put(struct backing *backing)
{
	backing_read_fd_put(backing, false);
}

/* Asked after the bytes were read: what was read before a change is good. */
int backing_check(struct backing *backing)
{
	struct stat now;
	const char *why;
	bool same;
	int fd;

	/* Of parts each read has asked. */
	if (backing->ops.read)
		return 0;
	fd = backing_read_fd_get(backing, false, &why);
	if (fd < 0)
		return backing_fail(backing, why);
	same = fstat(fd, &now) == 0 && backing_is_unchanged(backing, &now);
	backing_read_fd_put(backing, false);
	return same ? 0 : backing_fail(backing, changed);
}

/* Is the page that holds the byte in memory? The map is not read from. Where this process may not
 * know, the kernel says yes. */
static bool is_in_memory(int fd, uint64_t offset)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char resident = 1;
	void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, (off_t)(offset - offset % page));

	if (map == MAP_FAILED)
		return true;
	if (mincore(map, 1, &resident) < 0)
		resident = 1;
	munmap(map, 1);
	return resident & 1;
}

/* Filesystems in memory, and some on a network, do not know reads that must not wait. */
bool backing_is_uncached(struct backing *backing, uint64_t offset)
{
	const char *why;
	char byte;
	const struct iovec one = { &byte, 1 };
	bool far;
	int fd;

	if (backing->ops.read || backing->frames || offset > INT64_MAX)
		return false;
	fd = backing_read_fd_get(backing, true, &why);
	if (fd < 0)
		return false;
	far = preadv2(fd, &one, 1, (off_t)offset, RWF_NOWAIT) < 0 &&
	      (errno == EAGAIN || (errno == EOPNOTSUPP && !is_in_memory(fd, offset)));
	backing_read_fd_put(backing, true);
	return far;
}

void backing_readahead(struct backing *backing, size_t n, uint64_t offset)
{
	const char *why;
	int fd;

	if (backing->ops.read || backing->frames || offset > INT64_MAX || n > INT64_MAX)
		return;
	fd = backing_read_fd_get(backing, true, &why);
	if (fd < 0)
		return;
	posix_fadvise(fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
	backing_read_fd_put(backing, true);
}

static int read_frames(struct backing *backing, void *bytes, size_t n, uint64_t offset,
		       int (*read)(struct zstd_seekable *frames, void *bytes, size_t n,
				   uint64_t offset, struct error *err))
{
	struct error err = { 0 };
	const int rc = read(backing->frames, bytes, n, offset, &err);
	char text[320];

	if (rc == -EIO)
		backing_fail(backing, error_describe(&err, text, sizeof(text)));
	return rc;
}

static int read_file(struct backing *backing, bool spans, void *bytes, size_t n, uint64_t offset)
{
	const char *why;
	const int fd = backing_read_fd_get(backing, spans, &why);
	ssize_t got;

	if (fd < 0)
		return backing_fail(backing, why);
	got = io_read(fd, bytes, n, offset);
	backing_read_fd_put(backing, spans);
	if (got >= 0 && (size_t)got == n)
		return 0;
	/* It was as long as that when it was opened. */
	return backing_fail(backing, got < 0 ? strerror((int)-got) : changed);
}

int backing_read_raw(struct backing *backing, bool spans, void *bytes, size_t n, uint64_t offset)
{
	if (backing->ops.read)
		return backing->ops.read(backing->ops.context, spans, bytes, n, offset);
	if (backing->frames)
		return read_frames(backing, bytes, n, offset, zstd_seekable_read);
	if (offset > INT64_MAX - n)
		return -EIO;
	return read_file(backing, spans, bytes, n, offset);
}

static int fetch_trusted(struct backing *backing, bool spans, void *bytes, size_t n,
			 uint64_t offset)
{
	const int rc = backing_verify(backing, NULL);

	return rc < 0 ? rc : backing_read_raw(backing, spans, bytes, n, offset);
}

int backing_peek(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	return fetch_trusted(backing, true, bytes, n, offset);
}

int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	return backing_read_as(backing, false, bytes, n, offset);
}

int backing_read_as(struct backing *backing, bool spans, void *bytes, size_t n, uint64_t offset)
{
	const int rc = fetch_trusted(backing, spans, bytes, n, offset);

	return rc < 0 ? rc : backing_check(backing);
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	struct backing *backing = context;
	const int rc = backing->frames ? read_frames(backing, bytes, n, offset, zstd_seekable_peek)
				       : backing_read_raw(backing, false, bytes, n, offset);

	return rc < 0 ? rc : backing_check(backing);
}

struct source backing_source(struct backing *backing)
{
	return (struct source){ source_read_at, backing, backing_size(backing) };
}
