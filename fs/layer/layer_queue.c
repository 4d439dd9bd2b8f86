/* SPDX-License-Identifier: MIT */
/* layer_queue.c - see layer_queue.h. */
#include "fs/layer/layer_queue.h"
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void layer_queue_init(struct layer_queue *queue)
{
	*queue = (struct layer_queue){ .database = NULL };
	pthread_mutex_init(&queue->lock, NULL);
	pthread_mutex_init(&queue->database_lock, NULL);
	pthread_cond_init(&queue->moved, NULL);
	queue->last = &queue->first;
}

void layer_queue_destroy(struct layer_queue *queue)
{
	database_close(queue->database);
	pthread_mutex_destroy(&queue->lock);
	pthread_mutex_destroy(&queue->database_lock);
	pthread_cond_destroy(&queue->moved);
	free(queue->dropped.numbers);
	free(queue->added.numbers);
}

void layer_submit(struct layer *layer, struct layer_change *change)
{
	struct layer_queue *queue = &layer->queue;

	change->next = NULL;
	change->done = false;
	pthread_mutex_lock(&queue->lock);
	*queue->last = change;
	queue->last = &change->next;
	pthread_mutex_unlock(&queue->lock);
}

void layer_close_database(struct layer *layer)
{
	struct layer_queue *queue = &layer->queue;

	database_close(queue->database);
	queue->database = NULL;
	atomic_store(&queue->failed, 0);
}

static bool is_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

/* Handle a failed transaction. Log pages whose sync has failed may be in the page cache only, and
 * SQLite's memory is not trusted after an error, so the database is closed and reopened: after the
 * log has been emptied, or at once if a full disk has kept the commit record out of the log. */
static void note_failure(struct layer *layer, int rc)
{
	struct layer_queue *queue = &layer->queue;

	if (!queue->database)
		return;
	if (database_empty_log(queue->database) == 0 || (is_full(rc) && !queue->may_be_logged)) {
		layer_close_database(layer);
		return;
	}
	if (queue->may_be_logged && !atomic_load(&queue->failed))
		log_add(layer->manner.log,
			"%s: a refused change cannot be removed from layer.db-wal: %s; "
			"the next mount may find it done",
			layer_path(layer), strerror(-rc));
	atomic_store(&queue->failed, rc);
}

struct database *layer_database(struct layer *layer, int *rc)
{
	struct layer_queue *queue = &layer->queue;
	struct error err = { 0 };

	*rc = atomic_load(&queue->failed);
	if (*rc < 0)
		note_failure(layer, *rc);
	*rc = atomic_load(&queue->failed);
	if (*rc < 0)
		return NULL;
	if (!queue->database)
		queue->database = layer_open_database(layer, &err);
	*rc = queue->database ? 0 : -err.code;
	return queue->database;
}

int layer_query(struct layer *layer,
		int (*say)(struct layer *layer, sqlite3_stmt *row, void *context), void *context,
		const char *sql, const char *format, ...)
{
	struct database *database = NULL;
	sqlite3_stmt *row = NULL;
	va_list args;
	int rc = 0;

	pthread_mutex_lock(&layer->queue.database_lock);
	if (layer_exists(layer))
		database = layer_database(layer, &rc);
	if (database) {
		va_start(args, format);
		row = database_vquery(database, &rc, sql, format, args);
		va_end(args);
	}
	while (row && (rc = database_next(database, row)) > 0)
		if ((rc = say(layer, row, context)) != 0)
			break;
	database_end(row);
	pthread_mutex_unlock(&layer->queue.database_lock);
	return rc;
}

/* The transaction was rolled back, so fail the changes that were applied. */
static void fail_applied(struct layer_change *first, int rc)
{
	for (struct layer_change *change = first; change; change = change->next)
		if (change->rc == 0)
			change->rc = rc;
}

static int apply_within_savepoint(struct layer *layer, struct database *database,
				  struct layer_change *change)
{
	const size_t n_dropped = layer->queue.dropped.n, n_added = layer->queue.added.n;
	int rc = database_exec(database, "SAVEPOINT change");

	if (rc < 0)
		return rc;
	rc = change->apply(layer, database, change->context);
	if (rc < 0) {
		/* The rows are restored, so keep their files. */
		layer->queue.dropped.n = n_dropped;
		layer->queue.added.n = n_added;
	}
	if (rc < 0 && database_in_transaction(database))
		database_exec(database, "ROLLBACK TO change");
	if (database_in_transaction(database))
		database_exec(database, "RELEASE change");
	return rc;
}

/* Apply the changes without a result. Returns 0, or -errno of an error that ended the
 * transaction. */
static int apply_all(struct layer *layer, struct database *database, struct layer_change *first)
{
	for (struct layer_change *change = first; change; change = change->next) {
		if (change->rc)
			continue;
		change->rc = apply_within_savepoint(layer, database, change);
		if (!database_in_transaction(database))
			return change->rc < 0 ? change->rc : -EIO;
	}
	return 0;
}

/* Returns 0, or -errno after a rollback. */
static int commit(struct layer *layer, struct database *database)
{
	struct layer_queue *queue = &layer->queue;
	int rc = queue->has_new_file ? blobs_sync(layer) : 0;

	if (rc == 0)
		rc = database_commit(database, &queue->may_be_logged);
	else
		database_exec(database, "ROLLBACK");
	if (rc == 0 && queue->is_timed)
		layer_read_times(layer, database);
	queue->is_timed = false;
	blobs_end_transaction(layer, rc == 0);
	return rc;
}

static void roll_back(struct layer *layer, struct database *database)
{
	if (database_in_transaction(database))
		database_exec(database, "ROLLBACK");
	layer->queue.is_timed = false;
	blobs_end_transaction(layer, false);
}

/* Run one transaction for all changes whose result is 0. A disk error fails each of them. */
static void run_transaction(struct layer *layer, struct layer_change *first)
{
	struct layer_queue *queue = &layer->queue;
	int rc;
	struct database *database = layer_database(layer, &rc);
	bool any = false;

	if (database && !queue->holds)
		rc = database_exec(database, "BEGIN IMMEDIATE");
	else if (database)
		rc = queue->lost;
	if (rc == 0) {
		rc = apply_all(layer, database, first);
		for (const struct layer_change *change = first; change; change = change->next)
			any |= change->rc == 0;
		if (rc < 0)
			queue->lost = rc;
		if (!queue->holds && rc == 0 && any)
			rc = commit(layer, database);
		else if (!queue->holds)
			roll_back(layer, database);
	}
	if (rc < 0)
		fail_applied(first, rc);
	if (rc < 0 && !queue->holds)
		note_failure(layer, rc);
}

/* Has a change that removes data failed because the disk is full? */
static bool lacks_space(const struct layer_change *first)
{
	for (const struct layer_change *change = first; change; change = change->next)
		if (change->frees && is_full(change->rc))
			return true;
	return false;
}

/* Run these changes in another transaction. */
static void run_again(struct layer *layer, struct layer_change *first)
{
	for (struct layer_change *change = first; change; change = change->next)
		if (change->frees && is_full(change->rc))
			change->rc = 0;
		else if (change->rc == 0)
			change->rc = 1; /* durable already */
	run_transaction(layer, first);
}

/* Run all changes, with database_lock held. On a full disk, changes that remove data are run again
 * with the reserve freed. */
static void run_batch(struct layer *layer, struct layer_change *first)
{
	int rc;

	for (struct layer_change *change = first; change; change = change->next)
		change->rc = 0;
	run_transaction(layer, first);
	if (!lacks_space(first) || layer->queue.holds) {
		blobs_keep_reserve(layer);
		return;
	}
	blobs_give_reserve(layer);
	run_again(layer, first);
	/* Emptying the log may need more space than the reserve had, so that is tried last. */
	if (lacks_space(first)) {
		if (layer_database(layer, &rc))
			database_empty_log(layer->queue.database);
		run_again(layer, first);
	}
	/* Allocate the reserve again at once, before another program takes the space. */
	blobs_keep_reserve(layer);
}

int layer_await(struct layer *layer, struct layer_change *change)
{
	struct layer_queue *queue = &layer->queue;
	struct layer_change *batch;

	pthread_mutex_lock(&queue->lock);
	while (!change->done) {
		if (queue->leads) {
			pthread_cond_wait(&queue->moved, &queue->lock);
			continue;
		}
		queue->leads = true;
		batch = queue->first;
		queue->first = NULL;
		queue->last = &queue->first;
		pthread_mutex_unlock(&queue->lock);
		pthread_mutex_lock(&queue->database_lock);
		run_batch(layer, batch);
		pthread_mutex_unlock(&queue->database_lock);
		pthread_mutex_lock(&queue->lock);
		queue->leads = false;
		while (batch) {
			struct layer_change *next = batch->next;

			batch->done = true;
			batch = next;
		}
		pthread_cond_broadcast(&queue->moved);
	}
	pthread_mutex_unlock(&queue->lock);
	return change->rc > 0 ? 0 : change->rc;
}

int layer_apply(struct layer *layer,
		int (*apply)(struct layer *layer, struct database *database, const void *context),
		const void *context, bool frees)
{
	struct layer_change change = { .apply = apply, .context = context, .frees = frees };
	int rc = layer->manner.read_only ? -EROFS : layer_make(layer);

	if (rc < 0)
		return rc;
	layer_submit(layer, &change);
	return layer_await(layer, &change);
}

int layer_hold(struct layer *layer)
{
	struct layer_queue *queue = &layer->queue;
	int rc = layer->manner.read_only ? -EROFS : layer_make(layer);
	struct database *database;

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&queue->database_lock);
	database = layer_database(layer, &rc);
	if (database)
		rc = database_exec(database, "BEGIN IMMEDIATE");
	queue->holds = rc == 0;
	queue->lost = 0;
	pthread_mutex_unlock(&queue->database_lock);
	return rc;
}

int layer_hold_end(struct layer *layer, bool keep)
{
	struct layer_queue *queue = &layer->queue;
	int rc;

	pthread_mutex_lock(&queue->database_lock);
	rc = queue->lost;
	if (rc == 0 && keep)
		rc = commit(layer, queue->database);
	else
		roll_back(layer, queue->database);
	if (rc < 0)
		note_failure(layer, rc);
	queue->holds = false;
	queue->lost = 0;
	pthread_mutex_unlock(&queue->database_lock);
	return rc;
}
