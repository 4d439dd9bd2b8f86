/* SPDX-License-Identifier: MIT */
/* fuzz_recipe_read.c - any text as a recipe: it is refused with line and column, or read into a
 * recipe that reads back the same after it was printed. */
#include "fs/recipe/recipe.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

static void check_again(const struct recipe *recipe)
{
	struct recipe again;
	struct error err = { 0 };
	size_t size, size_again;
	char *text = recipe_write(recipe, false, &size, &err), *text_again;

	/* Texts of many lines grow as they are indented. */
	if (!text) {
		require(err.code == EFBIG);
		return;
	}
	require(strlen(text) == size);
	require(recipe_read(text, size, &again, &err) == 0);
	text_again = recipe_write(&again, false, &size_again, &err);
	require(text_again && size_again == size && memcmp(text, text_again, size) == 0);
	free(text);
	free(text_again);
	recipe_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recipe recipe;
	struct error err = { 0 };

	if (recipe_read((const char *)data, size, &recipe, &err) == 0)
		check_again(&recipe);
	else
		require(err.code == EINVAL && strncmp(err.text, "line ", 5) == 0);
	recipe_release(&recipe);
	return 0;
}
