/* SPDX-License-Identifier: MIT */
/* ops_async.c - see ops.h. */
#include "fs/fuse/ops.h"
#include "fs/mount/mount.h"
#include "fs/storage/read_threads.h"
#include "fs/tree/inodes.h"
#include "fs/util/pool.h"
#include "fs/util/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Milliseconds between an interrupt and the answer EINTR. Most signals do not end the process, and
 * programs do not expect a read to fail because of one. */
#define GRACE_MS 1000
#define TICK_NS	 20000000L

/* Milliseconds between two checks for a pending signal. */
#define LOOK_MS 100

struct async_request *async_new(fuse_req_t req, struct inode *inode,
				ssize_t (*run)(struct async_request *async), const void *text,
				size_t n)
{
	struct async_request *async = calloc(1, sizeof(*async) + n + 1);

	if (!async) {
		inodes_put(mount_of(req)->inodes, inode);
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	async->req = req;
	async->fs = mount_of(req);
	async->run = run;
	async->reply = async_reply;
	async->inode = inode;
	if (text)
		memcpy(async->text, text, n);
	atomic_init(&async->refs, 1);
	atomic_init(&async->answered, false);
	atomic_init(&async->stop, false);
	return async;
}

void async_reply(struct async_request *async, ssize_t result)
{
	inodes_put(async->fs->inodes, async->inode);
	fuse_reply_err(async->req, (int)-result);
}

static void unref(struct async_request *async)
{
	if (atomic_fetch_sub(&async->refs, 1) == 1)
		free(async);
}

static long milliseconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)(now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

/* Runs on the thread of read_threads_interrupt_pool(), in the order of the interrupts. */
static void give_up(void *argument)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct async_request *async = argument;

	while (!atomic_load(&async->answered) && milliseconds_since(&async->interrupted) < GRACE_MS)
		nanosleep(&tick, NULL);
	/* The thread that sets `answered` first answers; no other thread touches the request. */
	if (!atomic_exchange(&async->answered, true)) {
		fuse_req_interrupt_func(async->req, NULL, NULL);
		pthread_rwlock_rdlock(&async->fs->answering);
		fuse_reply_err(async->req, EINTR);
		pthread_rwlock_unlock(&async->fs->answering);
	}
	unref(async);
}

static void interrupt(struct async_request *async)
{
	if (!async->drop || atomic_exchange(&async->stop, true)) {
		atomic_store(&async->stop, true);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &async->interrupted);
	atomic_fetch_add(&async->refs, 1);
	if (pool_submit(read_threads_interrupt_pool(async->fs->read_threads), give_up, async) < 0)
		atomic_fetch_sub(&async->refs, 1);
}

/* Runs on the thread of read_threads_interrupt_pool() and queues itself again. The kernel reports
 * the first signal only; /proc reports a later fatal signal to a thread that is to stop. The sleep
 * is relative to the request's last check, so many requests share one period. */
static void look_for_signal(void *argument)
{
	struct async_request *async = argument;
	const long left = LOOK_MS - milliseconds_since(&async->looked);
	const struct timespec pause = { .tv_nsec = left * 1000000 };

	if (left > 0)
		nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &async->looked);
	if (!atomic_load(&async->answered)) {
		if (!process_is_signalled(async->thread) &&
		    pool_submit(read_threads_interrupt_pool(async->fs->read_threads),
				look_for_signal, async) == 0)
			return;
		interrupt(async);
	}
	unref(async);
}

/* A signal that stops or freezes the thread is no interrupt: the thread will continue some day, and
 * then needs the answer. The same is true of a shell that receives SIGCHLD. The thread cannot stop
 * before the answer, as with a disk that is waited for. */
static void on_interrupt(fuse_req_t req, void *data)
{
	struct async_request *async = data;

	async->thread = fuse_req_ctx(req)->pid;
	clock_gettime(CLOCK_MONOTONIC, &async->looked);
	if (!process_is_signalled(async->thread)) {
		atomic_fetch_add(&async->refs, 1);
		if (pool_submit(read_threads_interrupt_pool(async->fs->read_threads),
				look_for_signal, async) == 0)
			return;
		atomic_fetch_sub(&async->refs, 1);
	}
	interrupt(async);
}

/* The reply frees the request, so interrupts end before it. */
static void conclude(struct async_request *async, ssize_t result)
{
	if (atomic_exchange(&async->answered, true)) {
		async->drop(async);
	} else {
		fuse_req_interrupt_func(async->req, NULL, NULL);
		pthread_rwlock_rdlock(&async->fs->answering);
		async->reply(async, result);
		pthread_rwlock_unlock(&async->fs->answering);
	}
	unref(async);
}

static void run_and_reply(void *argument)
{
	struct async_request *async = argument;

	conclude(async, atomic_load(&async->answered) ? -EINTR : async->run(async));
}

void async_run_now(struct async_request *async)
{
	fuse_req_interrupt_func(async->req, on_interrupt, async);
	run_and_reply(async);
}

void async_submit(struct async_request *async, struct pool *pool)
{
	int rc;

	fuse_req_interrupt_func(async->req, on_interrupt, async);
	rc = pool ? pool_submit(pool, run_and_reply, async) : -ENOMEM;
	if (rc < 0)
		conclude(async, rc);
}
