/* SPDX-License-Identifier: MIT */
/* announce.c - see announce.h. */
#include "fs/announce.h"

#include <inttypes.h>
#include <time.h>

static void tell_grafts(struct model *model, const struct layer_past *past)
{
	const char *path = layer_path(model->layer), *grafts = model->taken_up == 1 ? "" : "s";
	struct tm tm;
	char when[32];

	localtime_r(&past->changed.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	log_tell(model->log,
		 "%s: took up %" PRIu32 " graft%s that an earlier mount left, the last on %s",
		 model->name, model->taken_up, grafts, when);
	log_tell(model->log,
		 "%s: -o fresh begins without them; they are dropped by removing %s while the "
		 "model is not mounted",
		 model->name, path);
	if (past->older)
		log_tell(model->log,
			 "%s: %u older layer%s of it that other mounts left stay%s beside that one",
			 model->name, past->older, past->older == 1 ? "" : "s",
			 past->older == 1 ? "s" : "");
}

void announce_grafts(struct model *model, const struct options *options)
{
	const struct layer_past *past;

	if (!model->layer)
		return;
	past = layer_past(model->layer);
	if (model->taken_up && options->layer)
		log_add(model->log,
			"%s: took up %" PRIu32 " graft%s that an earlier mount left in %s",
			model->name, model->taken_up, model->taken_up == 1 ? "" : "s",
			layer_path(model->layer));
	else if (model->taken_up)
		tell_grafts(model, past);
	else if (past->copy)
		log_tell(model->log,
			 "%s: begins without the grafts that an earlier mount left in %s, for they "
			 "are those of another copy, %s",
			 model->name, past->copys, past->copy);
}

void announce(const struct collection *collection)
{
	for (uint32_t i = 0; i < collection->n; i++)
		announce_grafts(collection->models[i], collection->options);
}
