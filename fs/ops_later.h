/* SPDX-License-Identifier: MIT */
/* ops_later.h - requests that are answered by a job in a pool, because they may take long. */
#ifndef FS_OPS_LATER_H
#define FS_OPS_LATER_H

#include "fs/ops.h"

struct later {
	fuse_req_t req;
	/* On a thread of the pool: act, then reply to req. What act returns is reply's result. */
	ssize_t (*act)(struct later *later);
	/* The reply is the last thing that may be done with req. */
	void (*reply)(struct later *later, ssize_t result);
	atomic_bool stop; /* the caller was interrupted, act may end with -EINTR */
	/* For act and reply, as op needs them. */
	struct handle *handle;
	struct node *node;
	char *buffer;
	size_t size;
	uint64_t offset;
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

/* Hand it to the pool, which frees it after the reply. If that fails, reply gets -errno now. */
void later_submit(struct later *later, struct pool *pool);

#endif
