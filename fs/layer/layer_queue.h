/* SPDX-License-Identifier: MIT */
/* layer_queue.h - group commit: changes of a layer on their way into its database.
 *
 * A thread submits its change and waits. The first thread that waits while no other one leads
 * becomes the leader: it takes all changes that were submitted, applies each within a savepoint, so
 * that a change that breaks a rule fails alone, and commits the others in one transaction. An error
 * of the disk that ends the transaction fails all of them. Changes that are submitted meanwhile are
 * the next leader's. So a thread alone never waits for others, and n threads at once
 * share an fsync(). Changes are applied in the order in which they were submitted. */
#ifndef FS_LAYER_LAYER_QUEUE_H
#define FS_LAYER_LAYER_QUEUE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;
struct layer;

/* One change; the submitting thread's own until layer_await() returns. */
struct layer_change {
	/* Run its statements, on the leader's thread: 0 or -errno. It may be called again, after
	 * all of it was rolled back. */
	int (*apply)(struct layer *layer, struct database *database, const void *context);
	const void *context; /* borrowed */
	bool frees;	     /* it takes things back: a full disk has space in reserve for it */
	/* Of the queue: */
	struct layer_change *next;
	bool done;
	int rc;
};

/* Numbers of blobs. */
struct blob_numbers {
	uint64_t *numbers;
	size_t n, room;
};

struct layer_queue {
	pthread_mutex_t lock; /* protects first, last, leads */
	pthread_cond_t moved;
	struct layer_change *first, **last;
	bool leads; /* a thread commits */

	pthread_mutex_t database_lock; /* protects what follows; held while the disk works */
	struct database *database;     /* NULL: closed until it is needed */
	atomic_int failed;  /* -errno of a transaction that failed, if the log may hold it still;
			    * else 0. Nothing is changed until the log is empty */
	bool holds;	    /* all changes go into one transaction, layer_hold() */
	int lost;	    /* -errno: an error of the disk has ended that one */
	bool may_be_logged; /* database_commit(), of the transaction that failed */
	bool is_timed;	    /* the transaction has written times of directories */
	bool has_new_file;  /* the directory of blobs is to be made durable first */
	struct blob_numbers dropped; /* no slot has them after the commit */
	struct blob_numbers added;   /* their files go if the transaction is rolled back */
};

void layer_queue_init(struct layer_queue *queue);
void layer_queue_destroy(struct layer_queue *queue); /* the database is closed */

/* Submit the change. Calls are ordered as the caller's changes are. */
void layer_submit(struct layer *layer, struct layer_change *change);

/* Wait until it is durable. Returns 0, or -errno: nothing of it was done. */
int layer_await(struct layer *layer, struct layer_change *change);

/* Both, for a function and its context. -EROFS of a layer that is only read. */
int layer_apply(struct layer *layer,
		int (*apply)(struct layer *layer, struct database *database, const void *context),
		const void *context, bool frees);

/* The open database, with database_lock held. NULL with *rc set. */
struct database *layer_database(struct layer *layer, int *rc);

/* Call say() for each row of a query as database_query(), with the database locked, until it
 * returns another value than 0. Returns that value, 0, also of a layer that does not exist, or
 * -errno. */
int layer_query(struct layer *layer,
		int (*say)(struct layer *layer, sqlite3_stmt *row, void *context), void *context,
		const char *sql, const char *format, ...);

#endif
