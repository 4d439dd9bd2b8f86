/* SPDX-License-Identifier: MIT */
/* a_recipe.h - a recipe with all that one can hold. */
#ifndef TESTS_UNIT_A_RECIPE_H
#define TESTS_UNIT_A_RECIPE_H

#include "fs/recipe/recipe.h"

/* Fill it in; to be released. */
void a_recipe(struct recipe *recipe);

/* The text, which has memory, to free. */
char *a_recipe_text(const struct recipe *recipe, bool portable, size_t *size);

#endif
