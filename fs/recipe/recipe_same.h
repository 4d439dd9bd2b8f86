/* SPDX-License-Identifier: MIT */
/* recipe_same.h - compares two recipes by the models that they make. */
#ifndef FS_RECIPE_RECIPE_SAME_H
#define FS_RECIPE_RECIPE_SAME_H

#include <stdbool.h>

struct recipe;

/* Do both recipes make the same model of their base? Compares the sets of changes, ignoring their
 * order and the names and paths of donors: a copy by its bytes; a reference or link by donor and
 * tensor, so that both are equal for one tensor; a key by its value in the key's type. A field that
 * wanted omits, such as a type or the donor of a link with a target, equals any. */
bool recipe_same(const struct recipe *is, const struct recipe *wanted);

#endif
