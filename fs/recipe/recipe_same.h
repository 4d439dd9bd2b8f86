/* SPDX-License-Identifier: MIT */
/* recipe_same.h - do two recipes make the same model of their base? */
#ifndef FS_RECIPE_RECIPE_SAME_H
#define FS_RECIPE_RECIPE_SAME_H

#include "fs/recipe/recipe.h"

/* Their changes are the same, in the same order, whatever their donors are called and wherever they
 * lie: of a copy the bytes count, of what else fills a slot the donor's fingerprint and tensor, so
 * that a link and a reference to one tensor are the same. */
bool recipe_same(const struct recipe *a, const struct recipe *b);

#endif
