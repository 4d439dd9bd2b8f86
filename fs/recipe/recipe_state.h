/* SPDX-License-Identifier: MIT */
/* recipe_state.h - the recipe of a model as it is. */
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

/* Fill recipe, to be released either way, with what a snapshot of the model holds. Reads from the
 * disks of layer and donors, without the commit lock. When *stop becomes true, which may be NULL,
 * it ends. Returns 0, or -errno with err set: EIO, EINTR, ENOMEM. */
int recipe_of_model(struct model *model, const struct snapshot *snapshot,
		    struct recipe_ancestry *ancestry, const atomic_bool *stop,
		    struct recipe *recipe, struct error *err);

/* The same as a text (recipe_write()). NULL with err set. */
char *recipe_text_of_model(struct model *model, const struct snapshot *snapshot,
			   struct recipe_ancestry *ancestry, bool portable, size_t *size,
			   struct error *err);

/* Is the model not as its base? */
bool recipe_is_due(const struct model *model, const struct snapshot *snapshot);

#endif
