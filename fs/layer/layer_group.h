/* SPDX-License-Identifier: MIT */
/* layer_group.h - changes of a layer that wait for the disk together.
 *
 * A thread that has changed a directory joins, and waits then until an fsync() that began after it
 * joined is done. The first to wait makes it, for all that have joined by then; those that come
 * meanwhile wait for the next one, which one of them makes. So a thread alone never waits for
 * others, and n threads at once share an fsync().
 *
 * Where the filesystem keeps changes in order (layer_order.h), one fsync() of the directory that
 * was changed last stands for all; elsewhere each directory has its own.
 *
 * A removal need not wait: it is made durable a moment later by a thread of the group, or before
 * that by any fsync() here, so that it is not lost while a later change is known to stay. If that
 * fails the log says so, and the next that waits is told of it, as fsync() does. */
#ifndef FS_LAYER_LAYER_GROUP_H
#define FS_LAYER_LAYER_GROUP_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* One thread that waits; its own until layer_group_await() returns. */
struct layer_group_wait {
	struct layer_group_wait *next;
	int dir; /* -1: what has changed before is all that is waited for */
	bool done;
	int rc;
};

struct layer_group {
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t synced, wake;
	struct layer_group_wait *first, **last; /* have joined since the last fsync() began */
	bool syncing;
	int later;	    /* the directory of a removal that waits for no thread; -1: none does */
	bool later_is_last; /* it came after the last of those who have joined */
	bool is_failing;    /* the last fsync() failed: until one does not, none is left to later */
	int failed;	    /* what a later fsync() said that no thread was told of yet */
	bool ordered;	    /* as the calls that left something to later say */
	bool is_due;	    /* later has a time */
	struct timespec due;
	bool is_ending;
	bool has_thread;
	pthread_t thread;
	struct log *log; /* NULL: there is none */
};

/* The calls take whether the filesystem keeps order, which is the same each time. */

void layer_group_init(struct layer_group *group, struct log *log);

/* All that was changed is durable, as far as the disk allows; no thread uses it any more. */
void layer_group_destroy(struct layer_group *group);

/* All that was changed is durable, and the group has no thread until it needs one: before fork(),
 * which copies what the thread waits for, and not the thread. No other thread uses it meanwhile. */
void layer_group_rest(struct layer_group *group);

/* The directory was changed. It stays open until layer_group_await() returns, which is due. Threads
 * that change the same layer call this in the order in which they changed it. */
void layer_group_join(struct layer_group *group, struct layer_group_wait *wait, int dir);

/* What was changed before joining is durable: 0, or -errno. */
int layer_group_await(struct layer_group *group, struct layer_group_wait *wait, bool ordered);

/* Both. */
int layer_group_sync(struct layer_group *group, int dir, bool ordered);

/* The directory was changed, by a removal, which becomes durable soon. Returns 0; or -errno: where
 * that cannot be left to later it was tried at once. */
int layer_group_sync_later(struct layer_group *group, int dir, bool ordered);

/* Now. Returns 0 or -errno. */
int layer_group_flush(struct layer_group *group, bool ordered);

#endif
