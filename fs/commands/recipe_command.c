/* SPDX-License-Identifier: MIT */
/* recipe_command.c - see recipe_command.h. */
#include "fs/commands/recipe_command.h"
#include "fs/base/base.h"
#include "fs/model/model.h"
#include "fs/mount/options.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Print the key's value only if it parses as a recipe, which has no control characters. */
static int print(const struct base *base, struct error *err)
{
	struct recipe recipe;
	size_t size;
	char *text = recipe_carried(base->file, base->gguf, RECIPE_MAX, &size);
	int rc;

	if (!text)
		return error_set(err, ENODATA, ERROR_NO_OFFSET,
				 "it carries no recipe (" LINEAGE_KEY "), which -o lineage writes");
	rc = recipe_read(text, size, &recipe, err);
	recipe_release(&recipe);
	if (rc == 0 && (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0))
		rc = error_errno(err, errno);
	free(text);
	return rc;
}

int recipe_command(const struct options *options)
{
	struct base base;
	struct error err = { 0 };
	char text[320];
	int rc = base_open(&base, options->models[0], &err);

	if (rc == 0)
		rc = print(&base, &err);
	base_close(&base);
	if (rc < 0)
		log_error("%s: %s", options_name(options, 0),
			  error_describe(&err, text, sizeof(text)));
	return rc < 0;
}
