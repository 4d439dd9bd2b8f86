/* SPDX-License-Identifier: MIT */
/* layer_transaction.h - a change to the files of one slot, key or setting: renames, which are
 * undone in reverse if one of them, or making them durable, fails. What goes is set aside in
 * .stage/, which the next mount empties, and removed once the change is durable. */
#ifndef FS_LAYER_LAYER_TRANSACTION_H
#define FS_LAYER_LAYER_TRANSACTION_H

#include "fs/layer/layer_internal.h"

#define LAYER_TRANSACTION_STEPS 15

struct layer_transaction {
	struct layer *layer;
	int dir;	 /* the slot's class, or metadata/ */
	unsigned number; /* of a stage, whose names are used for files set aside */
	unsigned n;
	struct layer_step {
		char staged[LAYER_STAGE_NAME]; /* in the layer */
		char file[LAYER_FILE_MAX];     /* in dir */
		enum { STEP_PUT, STEP_EXCHANGE, STEP_ASIDE } kind;
	} steps[LAYER_TRANSACTION_STEPS];
};

/* All return 0 or -errno. After a failure no step but layer_transaction_end() is due. */

/* The staged file becomes a file of the directory, in place of what has that name. */
int layer_transaction_put(struct layer_transaction *change, const char *staged, const char *file);

/* There is a file of that name from now on: the one that was there, if it is a regular file, or an
 * empty one. */
int layer_transaction_create(struct layer_transaction *change, const char *file);

/* A file of the layer, which stays, becomes one of that name too. -EEXIST: there is one. */
int layer_transaction_link(struct layer_transaction *change, const char *from, const char *file);

/* A file of the directory goes, if it is there. */
int layer_transaction_remove(struct layer_transaction *change, const char *file);

/* What was done so far is durable; or will be soon, where the filesystem keeps order. */
int layer_transaction_sync(struct layer_transaction *change);
int layer_transaction_sync_later(struct layer_transaction *change);

/* What was done so far will be durable soon, also where no order is kept: for a single step, of
 * which the disk may have all or nothing. */
int layer_transaction_leave(struct layer_transaction *change);

/* After the last step, of which rc came: 0 it was made durable, and what was set aside is removed;
 * -errno: all is undone, as far as the disk allows. Returns rc. */
int layer_transaction_end(struct layer_transaction *change, int rc);

#endif
