/* SPDX-License-Identifier: MIT */
/* a_recipe.h - a recipe with everything that a recipe can hold. */
#ifndef TESTS_UNIT_A_RECIPE_H
#define TESTS_UNIT_A_RECIPE_H

#include "fs/recipe/recipe.h"

/* Fill in a recipe; the caller releases it. */
void a_recipe(struct recipe *recipe);

/* Text of a recipe; caller frees. Fails the test without memory. */
char *a_recipe_text(const struct recipe *recipe, bool portable, size_t *size);

#endif
