/* SPDX-License-Identifier: MIT */
/* layer_queue.h - group commit of a layer's changes.
 *
 * A thread submits its change and waits. The first thread that waits while there is no leader
 * becomes the leader: it takes all submitted changes, applies each within a savepoint, so that a
 * change that violates a constraint fails alone, and commits the others in one transaction. A disk
 * error that ends the transaction fails all of them. Changes that are submitted meanwhile belong to
 * the next leader. A change is thus never delayed to gather others, and n concurrent ones share an
 * fsync(). Changes are applied in the order of submission. */
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

/* One change; owned by the submitting thread again when layer_await() returns. */
struct layer_change {
	/* Run the statements, on the leader's thread. Returns 0 or -errno. May be called again
	 * after a rollback. */
	int (*apply)(struct layer *layer, struct database *database, const void *context);
	const void *context; /* borrowed */
	bool frees;	     /* removes data: may use the reserve on a full disk */
	/* Private to the queue: */
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
	pthread_mutex_t lock; /* protects first, last, leads, and `done` of submitted changes */
	pthread_cond_t moved;
	struct layer_change *first, **last;
	bool leads; /* a thread is committing */

	pthread_mutex_t database_lock; /* protects the members below; held while the disk works */
	struct database *database;     /* NULL: closed until needed */
	/* -errno of a failed transaction that may be in the write-ahead log; no change until the
	 * log is empty */
	atomic_int failed;
	bool holds;		     /* all changes belong to one transaction, layer_hold() */
	int lost;		     /* -errno of a disk error that ended this transaction */
	bool may_be_logged;	     /* set by database_commit() for the failed transaction */
	bool is_timed;		     /* the transaction has written times of directories */
	bool has_new_file;	     /* the directory blobs has to be synced first */
	struct blob_numbers dropped; /* files to remove after the commit */
	struct blob_numbers added;   /* files to remove after a rollback */
};

void layer_queue_init(struct layer_queue *queue);
void layer_queue_destroy(struct layer_queue *queue); /* call after the database was closed */

/* Submit the change. Call in the order of the caller's changes. */
void layer_submit(struct layer *layer, struct layer_change *change);

/* Wait until the change is durable, or amid layer_hold() applied. Returns 0, or -errno with nothing
 * changed. */
int layer_await(struct layer *layer, struct layer_change *change);

/* layer_submit() and layer_await() for a function and its context. -EROFS for a read-only layer. */
int layer_apply(struct layer *layer,
		int (*apply)(struct layer *layer, struct database *database, const void *context),
		const void *context, bool frees);

/* The open database, with database_lock held. NULL with *rc set. */
struct database *layer_database(struct layer *layer, int *rc);

/* Call say() for each row of a query, with the database locked, until it returns a value other than
 * 0, which is then returned. Otherwise returns 0, also if the layer does not exist, or -errno.
 * Parameters as for database_query(). */
int layer_query(struct layer *layer,
		int (*say)(struct layer *layer, sqlite3_stmt *row, void *context), void *context,
		const char *sql, const char *format, ...);

#endif
