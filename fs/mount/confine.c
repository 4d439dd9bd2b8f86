/* SPDX-License-Identifier: MIT */
/* confine.c - see confine.h. */
#include "fs/mount/confine.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/util/landlock.h"
#include "fs/util/paths.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 of Landlock forbids every rename between directories; a layer moves its blobs so. */
#define VERSION_NEEDED 2

static int allow(struct landlock *landlock, const char *path, struct error *err)
{
	const int rc = landlock_allow(landlock, path, true);

	return rc < 0 ? error_set(err, -rc, ERROR_NO_OFFSET,
				  "confine: %.200s, where the mount would write: %s", path,
				  strerror(-rc))
		      : 0;
}

static int allow_layer(struct landlock *landlock, const struct models *models,
		       const struct model *model, struct error *err)
{
	const char *home = layer_home(model->layer);
	const int rc = home ? paths_mkdir(home) : 0;

	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "confine: %.200s: %s", home,
				 strerror(-rc));
	/* With several models, each has its own layer in that directory. */
	return allow(landlock, home ? home : models->options->layer, err);
}

/* Allow the directory in which the unmount writes a model, by the meaning of output in
 * options.h. */
static int allow_output(struct landlock *landlock, const struct models *models,
			const struct model *model, struct error *err)
{
	const char *output = models->options->output;
	char *directory;
	int rc;

	if (!output || models->several)
		return allow(landlock, output ? output : model->directory, err);
	directory = paths_directory(output);
	rc = directory ? allow(landlock, directory, err)
		       : error_set(err, errno, ERROR_NO_OFFSET, "confine: %.200s: %s", output,
				   strerror(errno));
	free(directory);
	return rc;
}

int confine_prepare(struct landlock *landlock, const struct models *models, struct error *err)
{
	int rc;

	landlock->fd = -1;
	if (landlock_version() < VERSION_NEEDED)
		return error_set(err, ENOTSUP, ERROR_NO_OFFSET,
				 "confine needs Landlock, which this kernel does not have, or has "
				 "switched off: Linux 5.19 or newer, with landlock in its lsm=");
	rc = landlock_init(landlock, false);
	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "confine: %s", strerror(-rc));
	/* The daemon's stdout and stderr (util/background.h). */
	landlock_allow(landlock, "/dev/null", true);
	for (uint32_t i = 0; rc == 0 && i < models->n && !models->options->read_only; i++) {
		rc = allow_layer(landlock, models, models->models[i], err);
		if (rc == 0)
			rc = allow_output(landlock, models, models->models[i], err);
	}
	return rc;
}
