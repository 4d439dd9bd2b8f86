/* SPDX-License-Identifier: MIT */
/* backing_internal.h - what backing.c, backing_descriptors.c and backing_verify.c share. */
#ifndef FS_STORAGE_BACKING_INTERNAL_H
#define FS_STORAGE_BACKING_INTERNAL_H

#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/storage/page_cache.h"
#include "gguf/error.h"

#include <pthread.h>

enum trust { TRUSTED, UNVERIFIED, CORRUPT };

struct backing {
	atomic_uint refs;
	char *path;
	char *place; /* NULL: the path */
	struct stat stat;
	uint64_t size;
	struct fd_cache *set;	      /* NULL: file is open as long as the backing */
	struct fd_cache_entry file;   /* fd -1 without a set: there is none */
	struct fd_cache_entry spans;  /* the same file, of which nothing is read ahead */
	struct zstd_seekable *frames; /* NULL: it is no file of frames */
	struct remote_file *remote;   /* NULL: it is on this machine */
	struct error remote_error;    /* of the last read of it that failed */
	pthread_mutex_t remote_lock;  /* protects that */
	struct backing_ops ops;	      /* read NULL: the file's bytes; release is of composed */
	bool composed;		      /* it has no file of its own: ops read from other backings */
	struct page_cache pages;      /* what reading leaves in memory */
	atomic_uint announced;	      /* uses, without a set */
	enum file_use use;	      /* with a set: announced each time file is opened */
	struct log *log;	      /* NULL: no log is told */
	atomic_bool failed, changed;  /* it answered -EIO: for whatever cause, for a change */
	atomic_bool ended;

	char expected[XXH128_TEXT]; /* of all bytes, as long as they are not TRUSTED */
	_Atomic(enum trust) trust;
	/* Held while they are verified, or spans is opened without a set. */
	pthread_mutex_t lock;
};

/* Note that a read failed, and log the first failure. Returns -EIO. */
int backing_fail(struct backing *backing, const char *why);

/* Read all n bytes at offset, without the hash or the check that the file is unchanged. */
int backing_read_raw(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset, const atomic_bool *stop);

/* Open a file for reading, with more flags of open(2). Returns a descriptor or -errno. */
int backing_open_file(const char *path, int flags);

/* A descriptor to read from as the backing flags say, until backing_put_fd(). Returns it, or
 * -errno, of which backing_fd_error() has the sentence. */
int backing_get_fd(struct backing *backing, unsigned flags);
void backing_put_fd(struct backing *backing, unsigned flags);
const char *backing_fd_error(const struct backing *backing, int rc);

/* Close all descriptors at the backing's end. */
void backing_close_files(struct backing *backing);

#endif
