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

/* Hand it to the pool, which frees it after the reply. If that fails, reply gets -errno now. */
void later_submit(struct later *later, struct pool *pool);

#endif
