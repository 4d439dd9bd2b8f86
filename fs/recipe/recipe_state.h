/* SPDX-License-Identifier: MIT */
/* recipe_state.h - the recipe of a model's current state. */
#ifndef FS_RECIPE_RECIPE_STATE_H
#define FS_RECIPE_RECIPE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct model;
struct recipe;
struct recipe_ancestry;
struct snapshot;

/* Fill recipe, to be released in either case, from a snapshot of the model. Reads from the disks of
 * layer and donors, without the commit lock. Ends when *stop becomes true; stop may be NULL.
 * Returns 0, or -errno with err set: EIO, EINTR, ENOMEM. */
int recipe_of_model(struct model *model, const struct snapshot *snapshot,
		    struct recipe_ancestry *ancestry, const atomic_bool *stop,
		    struct recipe *recipe, struct error *err);

/* Like recipe_of_model(), as a text (recipe_write()). NULL with err set. */
char *recipe_text_of_model(struct model *model, const struct snapshot *snapshot,
			   struct recipe_ancestry *ancestry, bool portable, size_t *size,
			   struct error *err);

/* Does the model differ from its base? */
bool recipe_is_needed(const struct model *model, const struct snapshot *snapshot);

#endif
