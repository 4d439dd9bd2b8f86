/* SPDX-License-Identifier: MIT */
/* ops_async.h - requests that are answered by a job in a pool, because they may take long. */
#ifndef FS_FUSE_OPS_ASYNC_H
#define FS_FUSE_OPS_ASYNC_H

#include "fs/fuse/ops.h"

struct async_request {
	fuse_req_t req;
	/* On a thread of the pool: run, then reply to req. What run returns is reply's result. */
	ssize_t (*run)(struct async_request *async);
	/* The reply is the last thing that may be done with req. */
	void (*reply)(struct async_request *async, ssize_t result);
	/* NULL: who asked waits for run, whatever happens. Else: if run has not returned a moment
	 * after an interrupt, the answer is EINTR, and when run returns, drop lets go of what the
	 * other two hold. It knows no req any more. */
	void (*drop)(struct async_request *async);
	struct mount *fs;
	atomic_bool stop; /* the caller was interrupted, run may end with -EINTR */
	/* For run and reply, as op needs them. */
	struct open_file *handle;
	struct inode *inode;
	char *buffer;
	size_t size;
	uint64_t offset;
	struct view *view;
	/* Of ops_async.c. */
	atomic_uint refs;
	atomic_bool answered;
	struct timespec interrupted;
	_Alignas(8) char text[]; /* or a structure */
};

/* A request to be answered by a job: run, then async_reply(), unless the caller sets another reply.
 * It has a copy of the n bytes of text, NULL: so many zeros, and a NUL after them. inode, which may
 * be NULL, is the request's from then on. NULL: it was released, and the answer was ENOMEM. */
struct async_request *async_new(fuse_req_t req, struct inode *inode,
				ssize_t (*run)(struct async_request *async), const void *text,
				size_t n);

/* Release the inode and say what run has returned. */
void async_reply(struct async_request *async, ssize_t result);

/* Act and reply on this thread, and free it. */
void async_run_now(struct async_request *async);

/* Hand it to the pool, which frees it after the reply. If that fails, reply gets -errno now. */
void async_submit(struct async_request *async, struct pool *pool);

#endif
