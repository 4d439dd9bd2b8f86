/* SPDX-License-Identifier: MIT */
/* ops_later.c - see ops_later.h. */
#include "fs/fuse/ops_async.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* So long after an interrupt the answer may still come: most signals end nothing, and programs are
 * not prepared for a file that cannot be read because one came. */
#define GRACE_MS 1000
#define TICK_NS	 20000000L

struct later *later_new(fuse_req_t req, size_t n)
{
	struct later *later = calloc(1, sizeof(*later) + n);

	if (!later) {
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	later->req = req;
	later->fs = fs_of(req);
	atomic_init(&later->refs, 1);
	atomic_init(&later->answered, false);
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

static void unref(struct later *later)
{
	if (atomic_fetch_sub(&later->refs, 1) == 1)
		free(later);
}

static long milliseconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)(now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

/* On the thread of readers_answering(). Of two, the one that was interrupted first comes first. */
static void give_up(void *argument)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct later *later = argument;

	while (!atomic_load(&later->answered) && milliseconds_since(&later->interrupted) < GRACE_MS)
		nanosleep(&tick, NULL);
	/* Whoever says so first answers, and nobody else touches the request. */
	if (!atomic_exchange(&later->answered, true)) {
		fuse_req_interrupt_func(later->req, NULL, NULL);
		pthread_rwlock_rdlock(&later->fs->answering);
		fuse_reply_err(later->req, EINTR);
		pthread_rwlock_unlock(&later->fs->answering);
	}
	unref(later);
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct later *later = data;

	(void)req;
	if (!later->drop || atomic_exchange(&later->stop, true)) {
		atomic_store(&later->stop, true);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &later->interrupted);
	atomic_fetch_add(&later->refs, 1);
	if (pool_submit(readers_answering(later->fs->readers), give_up, later) < 0)
		atomic_fetch_sub(&later->refs, 1);
}

/* No interrupt may come any more when the request is freed with its reply. */
static void conclude(struct later *later, ssize_t result)
{
	if (atomic_exchange(&later->answered, true)) {
		later->drop(later);
	} else {
		fuse_req_interrupt_func(later->req, NULL, NULL);
		pthread_rwlock_rdlock(&later->fs->answering);
		later->reply(later, result);
		pthread_rwlock_unlock(&later->fs->answering);
	}
	unref(later);
}

static void run(void *argument)
{
	struct later *later = argument;

	conclude(later, atomic_load(&later->answered) ? -EINTR : later->act(later));
}

void later_now(struct later *later)
{
	fuse_req_interrupt_func(later->req, on_interrupt, later);
	run(later);
}

void later_submit(struct later *later, struct pool *pool)
{
	int rc;

	fuse_req_interrupt_func(later->req, on_interrupt, later);
	rc = pool ? pool_submit(pool, run, later) : -ENOMEM;
	if (rc < 0)
		conclude(later, rc);
}
