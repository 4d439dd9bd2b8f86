/* SPDX-License-Identifier: MIT */
/* recipe_origin.h - files of grafts, adapters and merges as donors of a recipe. */
#ifndef FS_RECIPE_RECIPE_ORIGIN_H
#define FS_RECIPE_RECIPE_ORIGIN_H

#include <stdint.h>

struct backing;
struct donor;
struct recipe;
struct recipe_ancestry;
struct recipe_text;

struct recipe_origin {
	const char *path;
	const char *fingerprint;
	struct backing *file;	   /* NULL: not open */
	const struct donor *donor; /* to open the file; NULL: must not be opened */
};

/* Set name to the last part of a path or URL, or to the stem of a name in a store. Returns 0 or
 * -ENOMEM. */
int recipe_origin_name(struct recipe_text *name, const char *path);

/* Set *number to RECIPE_BASE if the file is recipe->base, by its fingerprint, else to its number
 * among the recipe's donors; a new file is added. A donor whose file was moved or replaced has no
 * size. Returns 0 or -ENOMEM. */
int recipe_origin_donor(const struct recipe_origin *of, const struct backing *base,
			struct recipe *recipe, struct recipe_ancestry *ancestry, uint32_t *number);

#endif
