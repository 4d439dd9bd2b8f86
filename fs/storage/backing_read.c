/* SPDX-License-Identifier: MIT */
/* backing_read.c - see backing.h: reading, and that the bytes are what they were. */
#include "fs/storage/backing_internal.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

/* Bytes that are hashed at once. */
#define HASH_CHUNK ((size_t)1 << 16)

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
	pthread_mutex_lock(&backing->lock);
	if (backing->spans.fd < 0)
		backing->spans.fd = backing_open_spans(backing->file.fd);
	if (backing->spans.fd < 0)
		backing->spans.fd = backing->file.fd;
	pthread_mutex_unlock(&backing->lock);
	return backing->spans.fd;
}

/* A descriptor to read from as the flags say, until put_fd(). -errno, and the cause in *why, where
 * there is none. */
static int get_fd(struct backing *backing, unsigned flags, const char **why)
{
	const bool spans = flags & BACKING_SPANS;
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

static void put_fd(struct backing *backing, unsigned flags)
{
	if (backing->set)
		fd_cache_put(backing->set,
			     flags & BACKING_SPANS ? &backing->spans : &backing->file);
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
	const int fd = backing->composed ? -1 : get_fd(backing, 0, &why);

	return fd < 0 ? -1 : fd;
}

void backing_fd_put(struct backing *backing)
{
	put_fd(backing, 0);
}

/* Asked after the bytes were read: what was read before a change is good. */
int backing_check(struct backing *backing)
{
	struct stat now;
	const char *why;
	bool same;
	int fd;

	/* Each read of the backings that it is made of has asked. */
	if (backing->composed)
		return 0;
	fd = get_fd(backing, 0, &why);
	if (fd < 0)
		return backing_fail(backing, why);
	same = fstat(fd, &now) == 0 && backing_is_unchanged(backing, &now);
	put_fd(backing, 0);
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

	if (backing->ops.read || offset > INT64_MAX)
		return false;
	fd = get_fd(backing, BACKING_SPANS, &why);
	if (fd < 0)
		return false;
	far = preadv2(fd, &one, 1, (off_t)offset, RWF_NOWAIT) < 0 &&
	      (errno == EAGAIN || (errno == EOPNOTSUPP && !is_in_memory(fd, offset)));
	put_fd(backing, BACKING_SPANS);
	return far;
}

void backing_readahead(struct backing *backing, size_t n, uint64_t offset)
{
	const char *why;
	int fd;

	if (backing->ops.read || offset > INT64_MAX || n > INT64_MAX)
		return;
	fd = get_fd(backing, BACKING_SPANS, &why);
	if (fd < 0)
		return;
	posix_fadvise(fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
	put_fd(backing, BACKING_SPANS);
}

static int read_file(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset)
{
	const char *why;
	ssize_t got;
	int fd;

	if (offset > INT64_MAX - n)
		return -EIO;
	fd = get_fd(backing, flags, &why);
	if (fd < 0)
		return backing_fail(backing, why);
	got = io_read(fd, bytes, n, offset);
	put_fd(backing, flags);
	if (got >= 0 && (size_t)got == n)
		return 0;
	/* It was as long as that when it was opened. */
	return backing_fail(backing, got < 0 ? strerror((int)-got) : changed);
}

/* All n bytes at offset, neither verified nor checked. A plain file is read without a call through
 * the table: most reads are of one, and of few bytes. */
static int read_raw(struct backing *backing, unsigned flags, void *bytes, size_t n, uint64_t offset)
{
	if (!backing->ops.read)
		return read_file(backing, flags, bytes, n, offset);
	/* Other backings are checked read by read. */
	if (backing->composed)
		flags &= BACKING_SPANS;
	return backing->ops.read(backing->ops.context, flags, bytes, n, offset);
}

int backing_read_with(struct backing *backing, unsigned flags, void *bytes, size_t n,
		      uint64_t offset)
{
	int rc = 0;

	if (!(flags & BACKING_UNVERIFIED) && atomic_load(&backing->trust) != TRUSTED)
		rc = backing_verify(backing, NULL);
	if (rc == 0)
		rc = read_raw(backing, flags, bytes, n, offset);
	return rc < 0 || flags & BACKING_UNCHECKED ? rc : backing_check(backing);
}

int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	return backing_read_with(backing, 0, bytes, n, offset);
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	return backing_read_with(context, BACKING_UNVERIFIED, bytes, n, offset);
}

struct source backing_source(struct backing *backing)
{
	return (struct source){ source_read_at, backing, backing_size(backing) };
}

void backing_expect_hash(struct backing *backing, const char xxh128[XXH128_TEXT])
{
	memcpy(backing->expected, xxh128, XXH128_TEXT);
	atomic_store(&backing->trust, UNVERIFIED);
}

bool backing_is_unverified(const struct backing *backing)
{
	return atomic_load(&backing->trust) == UNVERIFIED;
}

/* All bytes of it through the hash. */
static int hash_all(struct backing *backing, XXH3_state_t *hash, const atomic_bool *stop)
{
	uint8_t *bytes = malloc(HASH_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < backing->size;) {
		const uint64_t left = backing->size - at;
		const size_t n = left < HASH_CHUNK ? (size_t)left : HASH_CHUNK;

		rc = stop && atomic_load(stop) ? -EINTR : read_raw(backing, 0, bytes, n, at);
		if (rc == 0)
			XXH3_128bits_update(hash, bytes, n);
		at += n;
	}
	free(bytes);
	return rc < 0 ? rc : backing_check(backing);
}

/* Settles whether it is to be trusted, unless that cannot be found out now. */
static int verify(struct backing *backing, const atomic_bool *stop)
{
	XXH3_state_t *hash = XXH3_createState();
	char has[XXH128_TEXT], why[160];
	int rc = -ENOMEM;

	if (hash) {
		XXH3_128bits_reset(hash);
		rc = hash_all(backing, hash, stop);
	}
	if (rc == 0) {
		xxh128_text(XXH3_128bits_digest(hash), has);
		if (strcmp(has, backing->expected) == 0) {
			atomic_store(&backing->trust, TRUSTED);
		} else {
			atomic_store(&backing->trust, CORRUPT);
			snprintf(why, sizeof(why),
				 "it is corrupt: its XXH128 is %s, and %s was recorded when it was "
				 "put in force",
				 has, backing->expected);
			rc = backing_fail(backing, why);
		}
	}
	XXH3_freeState(hash);
	return rc;
}

int backing_verify(struct backing *backing, const atomic_bool *stop)
{
	int rc = 0;

	if (atomic_load(&backing->trust) == UNVERIFIED) {
		pthread_mutex_lock(&backing->lock);
		if (atomic_load(&backing->trust) == UNVERIFIED)
			rc = verify(backing, stop);
		pthread_mutex_unlock(&backing->lock);
	}
	return rc == 0 && atomic_load(&backing->trust) == CORRUPT ? -EIO : rc;
}
