/* SPDX-License-Identifier: MIT */
/* ops_later.h - requests that are answered by a job in a pool, because they may take long. */
#ifndef FS_OPS_LATER_H
#define FS_OPS_LATER_H

#include "fs/fuse/ops.h"

struct later {
	fuse_req_t req;
	/* On a thread of the pool: act, then reply to req. What act returns is reply's result. */
	ssize_t (*act)(struct later *later);
	/* The reply is the last thing that may be done with req. */
	void (*reply)(struct later *later, ssize_t result);
	/* NULL: who asked waits for act, whatever happens. Else: if act has not returned a moment
	 * after an interrupt, the answer is EINTR, and when act returns, drop lets go of what the
	 * other two hold. It knows no req any more. */
	void (*drop)(struct later *later);
	struct fs *fs;
	atomic_bool stop; /* the caller was interrupted, act may end with -EINTR */
	/* For act and reply, as op needs them. */
	struct handle *handle;
	struct node *node;
	char *buffer;
	size_t size;
	uint64_t offset;
	struct view *view;
	/* Of ops_later.c. */
	atomic_uint refs;
	atomic_bool answered;
	struct timespec interrupted;
	_Alignas(8) char text[]; /* or a structure */
};

/* A request to be answered later, with room for n bytes of text, all zeros. NULL: it was answered
 * with ENOMEM. */
struct later *later_new(fuse_req_t req, size_t n);

/* The same for a job on a node, which is the request's from then on and released with the reply,
 * which says what act returns. NULL: that was done, with ENOMEM. */
struct later *later_on(fuse_req_t req, struct node *node, size_t n,
		       ssize_t (*act)(struct later *later));

/* That reply; and for rename(2), which says EINVAL of a directory that is moved into itself, as the
 * tools do: EPERM instead. */
void later_done(struct later *later, ssize_t result);
void later_renamed(struct later *later, ssize_t result);

/* Act and reply on this thread, and free it. */
void later_now(struct later *later);

/* Hand it to the pool, which frees it after the reply. If that fails, reply gets -errno now. */
void later_submit(struct later *later, struct pool *pool);

#endif
