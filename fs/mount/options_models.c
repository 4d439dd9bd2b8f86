/* SPDX-License-Identifier: MIT */
/* options_models.c - see options.h: models given by their names in a store. */
#include "fs/base/model_name.h"
#include "fs/mount/options.h"
#include "fs/util/log.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Prefix the name of a file in the working directory with "./", so that it is not taken for a name
 * in a store. Returns 0 or -1. */
static int mark_path(char **model)
{
	char *path;

	if (asprintf(&path, "./%s", *model) < 0)
		return -1;
	free(*model);
	*model = path;
	return 0;
}

static int find(char **model, char **name)
{
	struct error err = { 0 };
	char *path, text[320];

	if (model_name_find(*model, &path, &err) < 0) {
		log_error("%s: %s", *model, error_describe(&err, text, sizeof(text)));
		return -1;
	}
	*name = *model;
	*model = path;
	return 0;
}

int options_find_models(struct options *options)
{
	int rc = 0;

	options->names = calloc(options->n_models + 1u, sizeof(*options->names));
	if (!options->names)
		rc = -1;
	for (uint32_t i = 0; rc == 0 && i < options->n_models; i++) {
		char **model = &options->models[i];

		if (url_is_store(*model))
			rc = access(*model, F_OK) == 0 ? mark_path(model)
						       : find(model, &options->names[i]);
	}
	return rc;
}
