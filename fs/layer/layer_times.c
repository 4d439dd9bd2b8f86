/* SPDX-License-Identifier: MIT */
/* layer_times.c - see layer.h: modification times of the mount's directories, and times in rows. */
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"

#include <string.h>

struct timespec layer_time_of(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	if (time.tv_nsec < 0) {
		time.tv_nsec += 1000000000;
		time.tv_sec--;
	}
	return time;
}

int64_t layer_time_ns(const struct timespec *time)
{
	int64_t ns;

	/* Clamp times beyond the range. */
	if (__builtin_mul_overflow((int64_t)time->tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
		return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

int layer_read_times(struct layer *layer, struct database *database)
{
	int rc;
	sqlite3_stmt *row = database_query(database, &rc, "SELECT name, mtime FROM directory", "");

	pthread_mutex_lock(&layer->lock);
	while (row && (rc = database_next(database, row)) > 0) {
		const char *name = database_text(row, 0);
		enum organ_class klass; /* stays CLASSES if class_find() fails */

		if (!name ||
		    (!class_find(name, strlen(name), &klass) && strcmp(name, "metadata") != 0))
			continue;
		layer->times[klass] = layer_time_of(sqlite3_column_int64(row, 1));
		layer->timed |= 1u << klass;
	}
	pthread_mutex_unlock(&layer->lock);
	database_end(row);
	return rc;
}

bool layer_time(struct layer *layer, unsigned directory, struct timespec *mtime)
{
	bool timed;

	pthread_mutex_lock(&layer->lock);
	*mtime = layer->times[directory];
	timed = layer->timed & 1u << directory;
	pthread_mutex_unlock(&layer->lock);
	return timed;
}

static int write_time(struct layer *layer, struct database *database, unsigned directory,
		      const struct timespec *time)
{
	layer->queue.is_timed = true;
	return database_run(database, "INSERT OR REPLACE INTO directory VALUES (?, ?)", "ti",
			    directory < CLASSES ? class_name((enum organ_class)directory)
						: "metadata",
			    layer_time_ns(time));
}

int layer_touch(struct layer *layer, struct database *database, unsigned directory)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return write_time(layer, database, directory, &now);
}

struct given_time {
	unsigned directory;
	struct timespec time;
};

static int apply_time(struct layer *layer, struct database *database, const void *context)
{
	const struct given_time *given = context;

	return write_time(layer, database, given->directory, &given->time);
}

int layer_set_time(struct layer *layer, unsigned directory, const struct timespec *mtime)
{
	const struct given_time given = { directory, *mtime };
	struct timespec time;

	/* Only directories that have a time in the layer can be set. */
	return layer_time(layer, directory, &time) ? layer_apply(layer, apply_time, &given, false)
						   : 0;
}
