/* SPDX-License-Identifier: MIT */
/* backing_internal.h - what backing.c, backing_read.c and backing_verify.c share. */
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
	struct zstd_seekable *frames; /* NULL: the file's bytes are what is read */
	struct backing_ops ops;	      /* read: NULL, or where all its bytes come from */
	struct log *log;	    /* NULL: nobody is told */
	atomic_bool failed, changed; /* it answered -EIO: for whatever cause, for a change */
	atomic_bool ended;

	char expected[XXH128_TEXT]; /* of all bytes, as long as they are not TRUSTED */
	_Atomic(enum trust) trust;
	pthread_mutex_t lock; /* held while they are verified, or spans is opened without a set */
};

/* Is it the file that it was when it was opened? */
bool backing_is_unchanged(const struct backing *backing, const struct stat *now);

/* A descriptor to read from, for pieces here and there (spans) or in a row, until it is let go.
 * -errno, and in *why what it is, where there is none. */
int backing_read_fd_get(struct backing *backing, bool spans, const char **why);
void backing_read_fd_put(struct backing *backing, bool spans);

/* The first time, somebody is told. Returns -EIO. */
int backing_fail(struct backing *backing, const char *why);

/* All n bytes at offset, whatever they are to be, before the file is looked at. */
int backing_read_raw(struct backing *backing, bool spans, void *bytes, size_t n, uint64_t offset);

#endif
