/* SPDX-License-Identifier: MIT */
/* announce.c - see announce.h. */
#include "fs/mount/announce.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void report_grafts(struct model *model, const struct layer_history *past)
{
	struct tm tm;
	char when[32];

	localtime_r(&past->changed.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	log_report(model->log,
		   "%s: took up %" PRIu32 " graft%s that an earlier mount left, the last on %s",
		   model->name, model->recovered, plural(model->recovered), when);
	log_report(model->log,
		   "%s: -o fresh begins without them; they are dropped by removing %s while the "
		   "model is not mounted",
		   model->name, layer_path(model->layer));
	if (past->older)
		log_report(model->log, "%s: beside that one, earlier mounts left %u older layer%s",
			   model->name, past->older, plural(past->older));
}

void announce_grafts(struct model *model, const struct options *options)
{
	const struct layer_history *past;

	if (!model->layer)
		return;
	past = layer_history(model->layer);
	if (model->recovered && options->layer)
		log_add(model->log,
			"%s: took up %" PRIu32 " graft%s that an earlier mount left in %s",
			model->name, model->recovered, plural(model->recovered),
			layer_path(model->layer));
	else if (model->recovered)
		report_grafts(model, past);
	else if (past->copy)
		log_report(
			model->log,
			"%s: begins without the grafts that an earlier mount left in %s, for they "
			"are those of another copy, %s",
			model->name, past->copy_layer, past->copy);
}

static bool has_directory(const struct models *models, uint32_t n, const char *directory)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(models->models[i]->directory, directory) == 0)
			return true;
	return false;
}

/* Once for all models in a directory. */
static void report_output(const struct models *models)
{
	for (uint32_t i = 0; i < models->n; i++) {
		const struct model *model = models->models[i];

		if (has_directory(models, i, model->directory) ||
		    faccessat(AT_FDCWD, model->directory, W_OK, AT_EACCESS) == 0)
			continue;
		log_report(models->log,
			   "%s: nothing can be written beside the base, in %s: %s; use -o "
			   "output=FILE, or -o noassemble",
			   model->name, model->directory, strerror(errno));
	}
}

void announce(const struct models *models)
{
	const struct options *options = models->options;

	for (uint32_t i = 0; i < models->n; i++)
		announce_grafts(models->models[i], options);
	if (!options->read_only && !options->no_assembly && !options->output)
		report_output(models);
}
