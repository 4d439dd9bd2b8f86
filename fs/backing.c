/* SPDX-License-Identifier: MIT */
/* backing.c - see backing.h. */
#include "fs/backing.h"
#include "fs/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Bytes that are hashed at once. */
#define HASH_CHUNK ((size_t)1 << 16)

enum trust { TRUSTED, UNVERIFIED, CORRUPT };

struct backing {
	atomic_uint refs;
	int fd;
	char *path;
	struct stat stat;
	struct frames *frames; /* NULL: the file's bytes are what is read */
	uint64_t size;
	struct log *log; /* NULL: nobody is told */
	atomic_bool failed;

	char expected[XXH128_TEXT]; /* of all bytes, as long as they are not TRUSTED */
	_Atomic(enum trust) trust;
	pthread_mutex_t verifying; /* held meanwhile */
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
	pthread_mutex_init(&backing->verifying, NULL);
	backing->fd = fd;
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
	backing->size = (uint64_t)backing->stat.st_size;
	return backing;
}

struct backing *backing_adopt_frames(int fd, const char *path, struct frames_cache *cache,
				     struct error *err)
{
	struct backing *backing = backing_adopt(fd, path, err);

	if (!backing)
		return NULL;
	backing->frames = frames_open(fd, cache, err);
	if (!backing->frames) {
		backing_unref(backing);
		return NULL;
	}
	backing->size = frames_size(backing->frames);
	return backing;
}

struct backing *backing_open(const char *path, struct error *err)
{
	/* Without O_NONBLOCK a FIFO of that name would wait for a writer. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct backing *backing;
	char *real;

	if (fd < 0) {
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
		return NULL;
	}
	real = realpath(path, NULL);
	backing = backing_adopt(fd, real ? real : path, err);
	free(real);
	return backing;
}

struct backing *backing_gone(const char *path, uint64_t size)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing)
		return NULL;
	atomic_init(&backing->refs, 1);
	pthread_mutex_init(&backing->verifying, NULL);
	backing->fd = -1;
	backing->path = strdup(path);
	backing->size = size;
	if (backing->path)
		return backing;
	backing_unref(backing);
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
	frames_close(backing->frames);
	if (backing->fd >= 0)
		close(backing->fd);
	pthread_mutex_destroy(&backing->verifying);
	free(backing->path);
	free(backing);
}

/* The first time, somebody is told. Returns -EIO. */
static int fail_reading(struct backing *backing, const char *why)
{
	if (!atomic_exchange(&backing->failed, true) && backing->log)
		log_add(backing->log, "%s: cannot be read: %s", backing->path, why);
	return -EIO;
}

/* Asked after the bytes were read: what was read before a change is good. */
int backing_check(struct backing *backing)
{
	struct stat now;

	if (backing->fd >= 0 && fstat(backing->fd, &now) == 0 &&
	    now.st_size == backing->stat.st_size &&
	    now.st_mtim.tv_sec == backing->stat.st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == backing->stat.st_mtim.tv_nsec)
		return 0;
	return fail_reading(backing, "the file was changed since it was opened");
}

static int read_frames(struct backing *backing, void *bytes, size_t n, uint64_t offset,
		       int (*read)(struct frames *frames, void *bytes, size_t n, uint64_t offset,
				   struct error *err))
{
	struct error err = { 0 };
	const int rc = read(backing->frames, bytes, n, offset, &err);
	char text[320];

	if (rc == -EIO)
		fail_reading(backing, error_describe(&err, text, sizeof(text)));
	return rc;
}

static int peek(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	ssize_t got;

	if (backing->frames)
		return read_frames(backing, bytes, n, offset, frames_read);
	if (backing->fd < 0 || offset > INT64_MAX - n)
		return -EIO;
	got = io_read(backing->fd, bytes, n, offset);
	if (got >= 0 && (size_t)got == n)
		return 0;
	return fail_reading(backing, got < 0 ? strerror((int)-got) : "the file is too short");
}

int backing_peek(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	const int rc = backing_verify(backing, NULL);

	return rc < 0 ? rc : peek(backing, bytes, n, offset);
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
	return backing->size;
}

int backing_fd(const struct backing *backing)
{
	return backing->frames ? -1 : backing->fd;
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	struct backing *backing = context;
	const int rc = backing->frames ? read_frames(backing, bytes, n, offset, frames_peek)
				       : peek(backing, bytes, n, offset);

	return rc < 0 ? rc : backing_check(backing);
}

struct source backing_source(struct backing *backing)
{
	return (struct source){ source_read_at, backing, backing_size(backing) };
}

void backing_report_to(struct backing *backing, struct log *log)
{
	backing->log = log;
}

void backing_expect(struct backing *backing, const char xxh128[XXH128_TEXT])
{
	memcpy(backing->expected, xxh128, XXH128_TEXT);
	atomic_store(&backing->trust, UNVERIFIED);
}

bool backing_is_unverified(const struct backing *backing)
{
	return atomic_load(&backing->trust) == UNVERIFIED;
}

bool backing_has_failed(const struct backing *backing)
{
	return atomic_load(&backing->failed);
}

/* All bytes of it through the hash. */
static int hash_all(struct backing *backing, XXH3_state_t *hash, const atomic_bool *stop)
{
	uint8_t *bytes = malloc(HASH_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < backing->size;) {
		const uint64_t left = backing->size - at;
		const size_t n = left < HASH_CHUNK ? (size_t)left : HASH_CHUNK;

		rc = stop && atomic_load(stop) ? -EINTR : peek(backing, bytes, n, at);
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
			rc = fail_reading(backing, why);
		}
	}
	XXH3_freeState(hash);
	return rc;
}

int backing_verify(struct backing *backing, const atomic_bool *stop)
{
	int rc = 0;

	if (atomic_load(&backing->trust) == UNVERIFIED) {
		pthread_mutex_lock(&backing->verifying);
		if (atomic_load(&backing->trust) == UNVERIFIED)
			rc = verify(backing, stop);
		pthread_mutex_unlock(&backing->verifying);
	}
	return rc == 0 && atomic_load(&backing->trust) == CORRUPT ? -EIO : rc;
}
