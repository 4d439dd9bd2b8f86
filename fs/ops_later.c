/* SPDX-License-Identifier: MIT */
/* ops_later.c - see ops_later.h. */
#include "fs/ops_later.h"

#include <errno.h>
#include <stdlib.h>

struct later *later_new(fuse_req_t req, size_t n)
{
	struct later *later = calloc(1, sizeof(*later) + n);

	if (!later) {
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	later->req = req;
	atomic_init(&later->stop, false);
	return later;
}

void later_done(struct later *later, ssize_t result)
{
	nodes_put(fs_of(later->req)->nodes, later->node);
	fuse_reply_err(later->req, (int)-result);
}

void later_renamed(struct later *later, ssize_t result)
{
	later_done(later, result == -EINVAL ? -EPERM : result);
}

struct later *later_on(fuse_req_t req, struct node *node, size_t n,
		       ssize_t (*act)(struct later *later))
{
	struct later *later = later_new(req, n);

	if (!later) {
		nodes_put(fs_of(req)->nodes, node);
		return NULL;
	}
	later->act = act;
	later->reply = later_done;
	later->node = node;
	return later;
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct later *later = data;

	(void)req;
	atomic_store(&later->stop, true);
}

/* No interrupt may come any more when the request is freed with its reply. */
static void conclude(struct later *later, ssize_t result)
{
	fuse_req_interrupt_func(later->req, NULL, NULL);
	later->reply(later, result);
	free(later);
}

static void run(void *argument)
{
	struct later *later = argument;

	conclude(later, later->act(later));
}

void later_submit(struct later *later, struct pool *pool)
{
	int rc;

	fuse_req_interrupt_func(later->req, on_interrupt, later);
	rc = pool_submit(pool, run, later);
	if (rc < 0)
		conclude(later, rc);
}
