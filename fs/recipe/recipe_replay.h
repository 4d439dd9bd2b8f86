/* SPDX-License-Identifier: MIT */
/* recipe_replay.h - what a recipe says, done to a model: all of it or nothing.
 *
 * 1. A model that is changed already is left alone, unless it is as the recipe says.
 * 2. First all is checked and found: base, donors, tensors, shapes, keys. All that is missing is
 *    said. Then the bytes of every copy are in the layer, and checked by their hashes.
 * 3. Then the changes are made one after the other, in one transaction of the layer: a crash leaves
 *    all of them or none. Readers see them come. No assembly begins meanwhile.
 * 4. A merge comes first, for grafts are checked over it. It is part of the transaction.
 * 5. Other threads' changes are refused meanwhile (journal_begin_replay()). */
#ifndef FS_RECIPE_RECIPE_REPLAY_H
#define FS_RECIPE_RECIPE_REPLAY_H

#include "fs/recipe/recipe_donors.h"

#include <sys/types.h>

struct model;

/* For whom a recipe is done, and with what. All is borrowed. */
struct recipe_request {
	const char *text;
	size_t size; /* bytes */
	struct recipe_places places;
	struct recipe_ancestry *ancestry;
	uid_t uid; /* whose links are to be, and with whose rights donors are opened */
	gid_t gid;
	bool report; /* on stderr too, for nothing is mounted yet */
};

/* May take long: not on a thread that answers requests. Returns 0, or -errno with lines in the log,
 * and the model is as it was: EINVAL the recipe is wrong, or not for this model, or things are
 * missing; EBUSY another one is being done; EINTR; else what the disk said. */
int recipe_replay(struct model *model, const struct recipe_request *request);

#endif
