/* SPDX-License-Identifier: MIT */
/* recipe_replay.h - applies a recipe to a model, in whole or not at all.
 *
 * 1. A changed model is refused, unless it already equals the recipe's.
 * 2. First all inputs are found and checked: base, donors, tensors, shapes, keys. All missing ones
 *    are logged. Then the bytes of every copy are put into the layer and checked by their hashes.
 * 3. Then the changes are made one after the other in one transaction of the layer: a crash leaves
 *    all of them or none. Readers see them appear. No assembly begins meanwhile.
 * 4. A merge comes first, because grafts are checked over its results. It is part of the
 *    transaction.
 * 5. Meanwhile changes by other threads are refused (journal_begin_replay()). */
#ifndef FS_RECIPE_RECIPE_REPLAY_H
#define FS_RECIPE_RECIPE_REPLAY_H

#include "fs/recipe/recipe_donors.h"

#include <sys/types.h>

struct model;

/* A recipe to apply, its user and its inputs. All pointers are borrowed. */
struct recipe_request {
	const char *text;
	size_t size; /* bytes */
	struct recipe_places places;
	struct recipe_ancestry *ancestry;
	uid_t uid; /* owner of links, whose rights open donors */
	gid_t gid;
	bool report; /* on stderr too, because the mount is not there yet */
};

/* Apply a recipe. May take long: do not call on a thread that answers requests. Returns 0, or
 * -errno with lines in the log and the model unchanged: EINVAL the recipe is wrong, or for another
 * model, or inputs are missing; EBUSY another recipe is being applied; EINTR; else the disk's
 * error. */
int recipe_replay(struct model *model, const struct recipe_request *request);

#endif
