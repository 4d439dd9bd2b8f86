/* SPDX-License-Identifier: MIT */
/* backing_internal.h - what backing.c and backing_read.c share. */
#ifndef FS_STORAGE_BACKING_INTERNAL_H
#define FS_STORAGE_BACKING_INTERNAL_H

#include "fs/storage/backing.h"

#include <pthread.h>

enum trust { TRUSTED, UNVERIFIED, CORRUPT };

struct backing {
	atomic_uint refs;
	char *path;
	struct stat stat;
	uint64_t size;
	struct fd_cache *set;	      /* NULL: file is open as long as the backing */
	struct fd_cache_entry file;   /* fd -1 without a set: there is none */
	struct fd_cache_entry spans;  /* the same file, of which nothing is read ahead */
	struct zstd_seekable *frames; /* NULL: it is no file of frames */
	struct backing_ops ops;	      /* read NULL: the file's bytes are what is read */
	bool composed;		      /* it has no file of its own: ops read from other backings */
	struct log *log;	      /* NULL: no log is told */
	atomic_bool failed, changed; /* it answered -EIO: for whatever cause, for a change */
	atomic_bool ended;

	char expected[XXH128_TEXT]; /* of all bytes, as long as they are not TRUSTED */
	_Atomic(enum trust) trust;
	pthread_mutex_t lock; /* held while they are verified, or spans is opened without a set */
};

/* Is it the file that it was when it was opened? */
bool backing_is_unchanged(const struct backing *backing, const struct stat *now);

/* The first time, the log is told. Returns -EIO. */
int backing_fail(struct backing *backing, const char *why);

/* The file that is open as fd once more, of which nothing is read ahead. -errno. */
int backing_open_spans(int fd);

#endif
