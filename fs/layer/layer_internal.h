/* SPDX-License-Identifier: MIT */
/* layer_internal.h - definitions that the files of this room share. */
#ifndef FS_LAYER_LAYER_INTERNAL_H
#define FS_LAYER_LAYER_INTERNAL_H

#include "fs/layer/layer.h"
#include "fs/layer/layer_queue.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

struct layer {
	struct layer_options manner;
	char *state; /* where private layers are; NULL: it is one with a directory of its own */
	char *place; /* of a private one: layer_base_path() of the base, or NULL */
	struct layer_history past;
	struct backing *base;
	const struct gguf *gguf;
	struct layer_queue queue;
	bool has_reserve;	       /* blobs.h; with queue.database_lock held */
	atomic_uint in_memory;	       /* stages that are */
	pthread_mutex_t compress_lock; /* held while something is compressed with much memory */
	pthread_mutex_t lock;	       /* protects what follows */
	char *path;		       /* NULL: there is no directory yet */
	int dir;		       /* holds the lock; -1: there is no directory yet */
	int blobs;		       /* its directory of blobs; -1: not opened */
	bool exists;		       /* it has a database with tables */
	bool is_checked;	       /* the database was found whole once */
	bool keeps;		       /* a directory that cannot be read is not removed */
	uint64_t next_blob;
	struct timespec times[LAYER_DIRECTORIES]; /* of directories of the mount */
	unsigned timed;				  /* of times, by bits: there is one */
};

/* Open and lock the directory of a private layer; with make, it is made if need be. Returns its
 * descriptor, or -errno: EBUSY it is in use. */
int layer_open_locked(const char *path, bool make);

/* The database of a layer, and its name while it is being made. */
#define DATABASE     "layer.db"
#define DATABASE_NEW "layer.new"

/* Space for changes that take things back (blobs.h). */
#define RESERVE "reserve"

/* Open the database of a layer whose directory is open and locked. checks as in database_open().
 * NULL with err set: as there; ENOENT there is none; ENOTSUP of version 1; EBUSY, if it is only
 * read, another mount writes its log back. */
struct database *layer_database_at(int dir, bool read_only, bool checks, struct error *err);

/* The same for the layer, which has a directory, with its directory of blobs. The first time, the
 * base is checked too. */
struct database *layer_open_database(struct layer *layer, struct error *err);

/* With database_lock held, or before another thread knows the layer. */
void layer_close_database(struct layer *layer);

/* With database_lock held, or before another thread knows the layer: the database of its directory,
 * which is there or is made, is open from now on, and the layer exists. Both return 0, or -errno
 * with err set. */
int layer_take_up(struct layer *layer, struct error *err);
int layer_make_database(struct layer *layer, struct error *err);

/* The user with whose rights a link of that owner by its row is followed. */
void layer_owner(const struct layer *layer, uid_t *uid, gid_t *gid);

/* The canonical path of a base, of shards that of the first one with tensors, to free. NULL: it is
 * not there any more, or no memory. */
char *layer_base_path(struct backing *base);

/* Take up the private layer that earlier mounts of this base left behind, the newest one if there
 * are several, and note in layer->past what was found. */
void layer_recover_private(struct layer *layer);

/* SQL of a condition: the layer holds a change. */
#define LAYER_HOLDS_CHANGES                                                           \
	"EXISTS (SELECT 1 FROM slot) OR EXISTS (SELECT 1 FROM key) OR EXISTS (SELECT" \
	" 1 FROM adapter) OR EXISTS (SELECT 1 FROM merge) OR EXISTS (SELECT 1 FROM type)"

/* Is there a database? Without one the layer says nothing about anything. */
bool layer_exists(struct layer *layer);

/* There is a directory with a database from now on. Returns 0 or -errno. */
int layer_make(struct layer *layer);

/* Within a change: the item is taken back; NULL: nothing is. Both return 0 or -errno. */
int layer_undo_one(struct layer *layer, struct database *database,
		   const struct layer_undone *undone);
int layer_undo_slot(struct layer *layer, struct database *database,
		    const struct layer_undone *undone);

/* Times as the rows have them. */
struct timespec layer_time_of(int64_t ns);
int64_t layer_time_ns(const struct timespec *time);

/* Within a change: the directory has changed now. Returns 0 or -errno. */
int layer_touch(struct layer *layer, struct database *database, unsigned directory);

/* Before another thread knows the layer, and after a commit that wrote times: the times of the
 * database are what layer_time() says. Returns 0 or -errno. */
int layer_read_times(struct layer *layer, struct database *database);

#endif
