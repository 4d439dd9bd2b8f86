/* SPDX-License-Identifier: MIT */
/* recipe_same.h - do two recipes make the same model of their base? */
#ifndef FS_RECIPE_RECIPE_SAME_H
#define FS_RECIPE_RECIPE_SAME_H

#include <stdbool.h>

struct recipe;

/* Is a model, of which is is the recipe, as another recipe says? Their changes are the same in any
 * order, whatever their donors are called and wherever they lie: of a copy the bytes count, of what
 * else fills a slot the donor and its tensor, so that a link and a reference to one tensor are the
 * same, of a key its value as the key's type reads it. What the other recipe leaves out, as a type,
 * or the donor of a link that has a target, is as it is. */
bool recipe_same(const struct recipe *is, const struct recipe *wanted);

#endif
