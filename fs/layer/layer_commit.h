/* SPDX-License-Identifier: MIT */
/* layer_commit.h - layer_commit() in three steps, so that several threads wait for the disk at the
 * same time (layer_group.h). The first and the last one change the layer, one thread at a time; no
 * other change of the same slot may come between them. */
#ifndef FS_LAYER_LAYER_COMMIT_H
#define FS_LAYER_LAYER_COMMIT_H

#include "fs/layer/layer_transaction.h"

struct layer_commit {
	struct layer_transaction change;
	struct layer_group_wait wait;
	enum layer_kind kind;
	const char *name; /* of the slot; borrowed */
	struct backing *file;
};

/* Put stage number in place. Returns 0, and layer_commit_wait() is due, or -errno. Either way
 * layer_commit_end() is, with what came of it. */
int layer_commit_begin(struct layer_commit *commit, struct layer *layer, unsigned number,
		       const struct layer_seal *seal, enum organ_class klass, const char *name,
		       const struct layer_origin *origin);

/* Wait until it is durable: 0, or -errno. Any number of threads may be at it. */
int layer_commit_wait(struct layer_commit *commit);

/* rc 0: it is durable, and stays, and its bytes are in *file; -errno: it is taken back, as far as
 * the disk allows. What is left of the stage is the caller's to remove. Returns rc, or what failed
 * here. */
int layer_commit_end(struct layer_commit *commit, int rc, struct backing **file);

#endif
