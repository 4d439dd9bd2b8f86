/* SPDX-License-Identifier: MIT */
/* layer_group.c - see layer_group.h. */
#include "fs/layer/layer_group.h"
#include "fs/util/cond_poll.h"
#include "fs/util/disk.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a removal may stay in memory alone. */
#define LATER_NS 20000000L

void layer_group_init(struct layer_group *group, struct log *log)
{
	*group = (struct layer_group){ .later = -1, .log = log };
	pthread_mutex_init(&group->lock, NULL);
	pthread_cond_init(&group->synced, NULL);
	cond_poll_init(&group->wake);
	group->last = &group->first;
}

/* What one fsync(), or one for each directory, is to make durable. */
struct layer_group_batch {
	struct layer_group_wait *first;
	int later;
	bool later_is_last;
	int failed;
};

/* On a filesystem that keeps order: the directory that was changed last. -1: none was. */
static int last_changed(const struct layer_group_batch *batch)
{
	int dir = -1;

	for (const struct layer_group_wait *wait = batch->first; wait; wait = wait->next)
		if (wait->dir >= 0)
			dir = wait->dir;
	return batch->later >= 0 && (batch->later_is_last || dir < 0) ? batch->later : dir;
}

static bool is_same(int a, int b)
{
	struct stat of_a, of_b;

	return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/* Is it the directory of another one of the batch, before that one? NULL: of any. */
static bool is_before(const struct layer_group_batch *batch, int dir,
		      const struct layer_group_wait *wait)
{
	const struct layer_group_wait *before = batch->first;

	while (before != wait && (before->dir < 0 || !is_same(before->dir, dir)))
		before = before->next;
	return before != wait;
}

/* Of a removal before that too: what the other directory was changed by may have been nothing to
 * its filesystem, as an exchange of two names of one file. */
static int sync_ordered(const struct layer_group_batch *batch)
{
	const int dir = last_changed(batch);
	int rc = dir >= 0 ? disk_sync_directory(dir) : 0;

	if (rc == 0 && batch->later >= 0 && !is_same(batch->later, dir))
		rc = disk_sync_directory(batch->later);
	return rc;
}

static int sync_batch(const struct layer_group_batch *batch, bool ordered)
{
	int rc = 0;

	if (ordered)
		return sync_ordered(batch);
	/* First what was done first. */
	if (batch->later >= 0 && !is_before(batch, batch->later, NULL))
		rc = disk_sync_directory(batch->later);
	for (const struct layer_group_wait *wait = batch->first; wait; wait = wait->next) {
		int one = 0;

		if (wait->dir >= 0 && !is_before(batch, wait->dir, wait))
			one = disk_sync_directory(wait->dir);
		rc = one < 0 ? one : rc;
	}
	return rc;
}

/* With the lock held: the fsync() of what had been left to later is done. What it could not do, the
 * next one tries again, unless another directory was left to later meanwhile; one that waits is
 * told, and the log says so. */
static void end_later(struct layer_group *group, const struct layer_group_batch *batch, int rc)
{
	if (batch->later < 0)
		return;
	if (rc == 0 || group->later >= 0) {
		close(batch->later);
	} else {
		group->later = batch->later;
		group->later_is_last = !group->first;
	}
	if (rc == 0)
		return;
	if (!batch->first)
		group->failed = rc;
	if (group->log)
		log_add(group->log,
			"what was removed last could not be made durable: %s; the next mount may "
			"find it there",
			strerror(-rc));
}

/* With the lock held, which is released meanwhile: all that has changed until now is durable, and
 * who waits for that is told. */
static void sync_now(struct layer_group *group, bool ordered)
{
	struct layer_group_batch batch = { group->first, group->later, group->later_is_last,
					   group->failed };
	int rc;

	group->first = NULL;
	group->last = &group->first;
	group->later = -1;
	group->later_is_last = group->is_due = false;
	group->failed = 0;
	group->syncing = true;
	pthread_mutex_unlock(&group->lock);
	rc = sync_batch(&batch, ordered);
	pthread_mutex_lock(&group->lock);
	group->syncing = false;
	group->is_failing = rc < 0;
	end_later(group, &batch, rc);
	if (rc == 0)
		rc = batch.failed;
	/* A thread that is told may be gone with the next unlock. */
	for (struct layer_group_wait *wait = batch.first, *next; wait; wait = next) {
		next = wait->next;
		wait->rc = rc;
		wait->done = true;
	}
	pthread_cond_broadcast(&group->synced);
}

void layer_group_join(struct layer_group *group, struct layer_group_wait *wait, int dir)
{
	*wait = (struct layer_group_wait){ .dir = dir };
	pthread_mutex_lock(&group->lock);
	*group->last = wait;
	group->last = &wait->next;
	if (dir >= 0)
		group->later_is_last = false;
	pthread_mutex_unlock(&group->lock);
}

int layer_group_await(struct layer_group *group, struct layer_group_wait *wait, bool ordered)
{
	pthread_mutex_lock(&group->lock);
	while (!wait->done)
		if (group->syncing)
			pthread_cond_wait(&group->synced, &group->lock);
		else
			sync_now(group, ordered);
	pthread_mutex_unlock(&group->lock);
	return wait->rc;
}

int layer_group_sync(struct layer_group *group, int dir, bool ordered)
{
	struct layer_group_wait wait;

	layer_group_join(group, &wait, dir);
	return layer_group_await(group, &wait, ordered);
}

int layer_group_flush(struct layer_group *group, bool ordered)
{
	return layer_group_sync(group, -1, ordered);
}

/* The thread that makes durable what no other waits for. */
static void *sync_what_is_due(void *argument)
{
	struct layer_group *group = argument;
	struct timespec now;

	pthread_mutex_lock(&group->lock);
	while (!group->is_ending) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!group->is_due)
			pthread_cond_wait(&group->wake, &group->lock);
		else if (now.tv_sec < group->due.tv_sec ||
			 (now.tv_sec == group->due.tv_sec && now.tv_nsec < group->due.tv_nsec))
			pthread_cond_timedwait(&group->wake, &group->lock, &group->due);
		else if (group->syncing)
			pthread_cond_wait(&group->synced, &group->lock);
		else
			sync_now(group, group->ordered);
	}
	pthread_mutex_unlock(&group->lock);
	return NULL;
}

/* With the lock held. Signals are the main thread's. */
static bool start_thread(struct layer_group *group)
{
	sigset_t all, before;

	if (group->has_thread)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	group->has_thread = pthread_create(&group->thread, NULL, sync_what_is_due, group) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return group->has_thread;
}

/* With the lock held. */
static void set_due(struct layer_group *group)
{
	if (group->is_due)
		return;
	clock_gettime(CLOCK_MONOTONIC, &group->due);
	group->due.tv_nsec += LATER_NS;
	if (group->due.tv_nsec >= 1000000000L) {
		group->due.tv_nsec -= 1000000000L;
		group->due.tv_sec++;
	}
	group->is_due = true;
	pthread_cond_signal(&group->wake);
}

int layer_group_sync_later(struct layer_group *group, int dir, bool ordered)
{
	const int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	bool is_left = false;

	pthread_mutex_lock(&group->lock);
	/* Where no order is kept each directory needs its own fsync(), and one is left to later. */
	if (copy >= 0 && !group->failed && !group->is_failing &&
	    (ordered || group->later < 0 || is_same(group->later, dir)) && start_thread(group)) {
		group->ordered = ordered;
		if (group->later >= 0)
			close(group->later);
		group->later = copy;
		group->later_is_last = is_left = true;
		set_due(group);
	}
	pthread_mutex_unlock(&group->lock);
	if (is_left)
		return 0;
	if (copy >= 0)
		close(copy);
	return layer_group_sync(group, dir, ordered);
}

void layer_group_rest(struct layer_group *group)
{
	int rc;

	/* Without a thread nothing was left to later, but for what it could not do. */
	if (!group->has_thread && group->later < 0)
		return;
	rc = layer_group_flush(group, group->ordered);
	pthread_mutex_lock(&group->lock);
	/* No thread was told but the caller's, which has no use for it. */
	if (rc < 0)
		group->failed = rc;
	group->is_ending = true;
	pthread_cond_signal(&group->wake);
	/* It may wait for an fsync() of its own only, which ends before it looks again. */
	pthread_mutex_unlock(&group->lock);
	if (group->has_thread)
		pthread_join(group->thread, NULL);
	group->has_thread = group->is_ending = false;
}

void layer_group_destroy(struct layer_group *group)
{
	layer_group_rest(group);
	if (group->later >= 0)
		close(group->later);
	pthread_mutex_destroy(&group->lock);
	pthread_cond_destroy(&group->synced);
	pthread_cond_destroy(&group->wake);
}
