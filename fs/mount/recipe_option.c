/* SPDX-License-Identifier: MIT */
/* recipe_option.c - see recipe_option.h. */
#include "fs/mount/recipe_option.h"
#include "fs/edit/symlinks.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/util/io.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read a file of n bytes, to free. NULL with *rc set. */
static char *read_file(const char *path, size_t *n, int *rc)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text = NULL;
	struct stat stat;
	ssize_t got;

	*rc = fd < 0 || fstat(fd, &stat) < 0 ? -errno : 0;
	if (*rc == 0 && S_ISREG(stat.st_mode) && (uint64_t)stat.st_size > RECIPE_MAX)
		*rc = -EFBIG;
	if (*rc == 0 && !(text = malloc(RECIPE_MAX + 1)))
		*rc = -ENOMEM;
	if (*rc == 0) {
		/* One byte beyond the limit, to detect a longer file. */
		got = io_read(fd, text, RECIPE_MAX + 1, 0);
		*rc = got < 0 ? (int)got : 0;
		*n = (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	if (*rc == 0)
		return text;
	free(text);
	return NULL;
}

int recipe_option_run(struct mount *fs)
{
	const struct options *options = fs->options;
	struct model *model = fs->models->models[0];
	struct recipe_request request = { .ancestry = &fs->model_files[0].ancestry,
					  .uid = getuid(),
					  .gid = getgid(),
					  .report = true };
	size_t n = 0;
	char *text;
	int rc;

	if (!options->recipe)
		return 0;
	if (fs->models->several || !model->whole) {
		log_error("recipe= is for one model, with all its shards");
		return -EINVAL;
	}
	text = read_file(options->recipe, &n, &rc);
	if (!text) {
		log_error("%s: %s", options->recipe, strerror(-rc));
		return rc;
	}
	request.text = text;
	request.size = n;
	request.places = (struct recipe_places){ .beside = options->recipe,
						 .donors = options->donors,
						 .models = fs->models->models,
						 .n_models = fs->models->n };
	/* The recipe is compared with the grafts of an earlier mount, so resolve their links
	 * first. */
	symlinks_refresh(fs->links, NULL);
	rc = recipe_replay(model, &request);
	free(text);
	return rc;
}
