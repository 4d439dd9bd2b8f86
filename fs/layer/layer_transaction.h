/* SPDX-License-Identifier: MIT */
/* layer_change.h - a change to the files of one slot: renames, which are undone in reverse if one
 * of them, or making them durable, fails. Nothing is removed before the change is durable: what
 * goes is set aside in .stage/, which the next mount empties. */
#ifndef FS_LAYER_CHANGE_H
#define FS_LAYER_CHANGE_H

#include "fs/layer/layer_internal.h"

#define CHANGE_STEPS 15

struct change {
	struct layer *layer;
	int dir;	 /* of the class */
	unsigned number; /* of a stage, whose names are used for what is set aside */
	unsigned n;
	struct step {
		char staged[LAYER_STAGE_NAME]; /* in the layer */
		char file[LAYER_FILE_MAX];     /* in the class */
		enum { STEP_PUT, STEP_EXCHANGE, STEP_ASIDE } kind;
	} steps[CHANGE_STEPS];
};

/* All return 0 or -errno. After a failure change_undo() is due, after the last step
 * change_done(). */

/* The staged file becomes a file of the class, in place of what has that name. */
int change_put(struct change *change, const char *staged, const char *file);

/* A file of the class goes, if it is there. */
int change_aside(struct change *change, const char *file);

/* What was done so far is durable. */
int change_sync(struct change *change);

void change_done(struct change *change);
void change_undo(struct change *change);

#endif
