/* SPDX-License-Identifier: MIT */
/* backing_internal.h - shared by backing.c, backing_descriptors.c and backing_verify.c. */
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
	char *place; /* see backing_set_place(); NULL: the path */
	struct stat stat;
	uint64_t size;
	struct fd_cache *set;	      /* LRU cache of descriptors; NULL: the file stays open */
	struct fd_cache_entry file;   /* the file; fd is -1 if there is none */
	struct fd_cache_entry spans;  /* a second open file without read-ahead */
	struct zstd_seekable *frames; /* NULL: not compressed */
	struct remote_file *remote;   /* NULL: a local file */
	struct error remote_error;    /* of the last failed read of it */
	pthread_mutex_t remote_lock;  /* protects remote_error */
	struct backing_ops ops;	      /* read NULL: plain file; release is of composed */
	bool composed;		      /* no file of its own: ops read other backings */
	struct page_cache pages;      /* state of the page cache policy */
	atomic_uint announced;	      /* announced uses, without a set */
	enum file_use use;	      /* with a set: announced at each opening of the file */
	struct log *log;	      /* NULL: none */
	atomic_bool failed, changed;  /* a read returned -EIO, for any cause; for a change */
	atomic_bool ended;

	char expected[XXH128_TEXT]; /* required XXH128 of all bytes, until trust is TRUSTED */
	_Atomic(enum trust) trust;
	/* Held during the verification, and while spans is opened without a set. */
	pthread_mutex_t lock;
};

/* Note that a read failed, and log the first failure. Returns -EIO. */
int backing_fail(struct backing *backing, const char *why);

/* Read all n bytes at offset, without the hash or the check that the file is unchanged. */
int backing_read_raw(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset, const atomic_bool *stop);

/* Open a file for reading, with more flags of open(2). Returns a descriptor or -errno. */
int backing_open_file(const char *path, int flags);

/* A descriptor that suits the flags, to be released with backing_put_fd(). Returns it or -errno,
 * which backing_fd_error() explains. */
int backing_get_fd(struct backing *backing, unsigned flags);
void backing_put_fd(struct backing *backing, unsigned flags);
const char *backing_fd_error(const struct backing *backing, int rc);

/* Close all descriptors when the backing is freed. */
void backing_close_files(struct backing *backing);

#endif
