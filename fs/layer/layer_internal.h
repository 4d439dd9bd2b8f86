/* SPDX-License-Identifier: MIT */
/* layer_internal.h - shared by the files of this room. */
#ifndef FS_LAYER_LAYER_INTERNAL_H
#define FS_LAYER_LAYER_INTERNAL_H

#include "fs/layer/layer.h"
#include "fs/layer/layer_queue.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

struct layer {
	struct layer_options manner;
	char *state; /* directory of private layers; NULL: a layer of -o layer= */
	char *place; /* of a private layer: layer_base_path() of the base, or NULL */
	struct layer_history past;
	struct backing *base;
	const struct gguf *gguf;
	struct layer_queue queue;
	bool has_reserve;	       /* blobs.h; with queue.database_lock held */
	atomic_uint in_memory;	       /* number of stages in memory */
	pthread_mutex_t compress_lock; /* held during a compression that needs much memory */
	pthread_mutex_t lock;	       /* protects the members below */
	char *path;		       /* NULL: no directory yet */
	int dir;		       /* locked; -1: no directory yet */
	int blobs;		       /* the directory blobs; -1: not open */
	bool exists;		       /* the database and its tables exist */
	bool is_checked;	       /* the database has passed integrity_check */
	bool is_unreadable;	       /* keep the directory, which cannot be read */
	uint64_t next_blob;
	struct timespec times[LAYER_DIRECTORIES]; /* of the mount's directories */
	unsigned timed;				  /* bit i: times[i] is valid */
};

/* Open and lock the directory of a private layer, which is made if make is true. Returns its
 * descriptor, or -errno: EBUSY another mount uses it. */
int layer_open_locked(const char *path, bool make);

/* The layer's database, and its name during its making. */
#define DATABASE     "layer.db"
#define DATABASE_NEW "layer.new"

/* See blobs_keep_reserve(). */
#define RESERVE "reserve"

/* Open the database in a layer's open and locked directory. checks as for database_open(). NULL
 * with err set: errors of database_open(); ENOENT no database; ENOTSUP version 1; EBUSY another
 * mount is checkpointing the log, if read_only. */
struct database *layer_database_at(int dir, bool read_only, bool checks, struct error *err);

/* Open the database and the blobs of a layer with a directory. The first call checks the base. */
struct database *layer_open_database(struct layer *layer, struct error *err);

/* Called with database_lock held, or before other threads know the layer. */
void layer_close_database(struct layer *layer);

/* Open the database of the layer's directory, or make it; the layer then exists. Called with
 * database_lock held, or before other threads know the layer. Both return 0, or -errno with err
 * set. */
int layer_take_up(struct layer *layer, struct error *err);
int layer_make_database(struct layer *layer, struct error *err);

/* Set the user with whose rights a link is followed, given the owner in its row. */
void layer_owner(const struct layer *layer, uid_t *uid, gid_t *gid);

/* The canonical path of a base, for shards that of the first one with tensors; to free. NULL: the
 * file is gone, or out of memory. */
char *layer_base_path(struct backing *base);

/* Take up the newest private layer of this base, if there is one, and report in layer->past. */
void layer_recover_private(struct layer *layer);

/* SQL condition: the layer contains a change. */
#define LAYER_HOLDS_CHANGES                                                           \
	"EXISTS (SELECT 1 FROM slot) OR EXISTS (SELECT 1 FROM key) OR EXISTS (SELECT" \
	" 1 FROM adapter) OR EXISTS (SELECT 1 FROM merge) OR EXISTS (SELECT 1 FROM type)"

/* Does the layer have a database? Otherwise it contains nothing. */
bool layer_exists(struct layer *layer);

/* Make directory and database, unless they exist. Returns 0 or -errno. */
int layer_make(struct layer *layer);

/* Undo an item within a change; NULL: none. Both return 0 or -errno. */
int layer_undo_one(struct layer *layer, struct database *database,
		   const struct layer_undone *undone);
int layer_undo_slot(struct layer *layer, struct database *database,
		    const struct layer_undone *undone);

/* Conversion of times from and to those in rows. */
struct timespec layer_time_of(int64_t ns);
int64_t layer_time_ns(const struct timespec *time);

/* Set the directory's time to now, within a change. Returns 0 or -errno. */
int layer_touch(struct layer *layer, struct database *database, unsigned directory);

/* Read the times for layer_time(). Called before other threads know the layer, and after a commit
 * that wrote times. Returns 0 or -errno. */
int layer_read_times(struct layer *layer, struct database *database);

#endif
