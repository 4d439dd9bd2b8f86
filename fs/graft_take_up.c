/* SPDX-License-Identifier: MIT */
/* graft_take_up.c - grafts that an earlier mount left in the layer. */
#include "fs/fingerprint.h"
#include "fs/graft.h"
#include "fs/graft_internal.h"
#include "fs/inode.h"
#include "fs/reference.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct taking_up {
	struct model *model;
	uint32_t found;
};

/* The organ in a file of the layer as the slot's content. What close() once confirmed stays,
 * whatever shapes this mount accepts. */
static struct content *content_of_organ(struct filling *filling, struct backing *file)
{
	const struct source source = backing_source(file);

	if (organ_parse(&source, &filling->organ, &filling->err) < 0)
		return NULL;
	if (filling_check(filling) < 0) {
		free((char *)filling->organ.name);
		return NULL;
	}
	return content_new(inode_new(filling->model), &filling->organ, backing_ref(file));
}

static struct content *content_of_reference(struct filling *filling, struct backing *file)
{
	struct model *model = filling->model;
	const struct gguf_tensor *tensor;

	if (!model->fingerprint[0] &&
	    fingerprint(model->base, model->gguf, model->fingerprint) < 0) {
		error_set(&filling->err, EIO, ERROR_NO_OFFSET, "the base cannot be read");
		return NULL;
	}
	tensor = reference_read(file, model->gguf, model->fingerprint, &filling->err);
	if (!tensor)
		return NULL;
	filling->organ = organ_of_tensor(tensor);
	if (filling_check(filling) < 0)
		return NULL;
	return content_reference(inode_new(model), &filling->organ, model->base, tensor->offset);
}

static struct content *content_of(struct filling *filling, const struct layer_entry *entry)
{
	switch (entry->kind) {
	case LAYER_ORGAN:
		return content_of_organ(filling, entry->file);
	case LAYER_REFERENCE:
		return content_of_reference(filling, entry->file);
	default:
		if (!filling->is_new)
			return content_nothing();
		error_set(&filling->err, ENOENT, ERROR_NO_OFFSET, "no tensor has that name");
		return NULL;
	}
}

static void take_up_one(void *context, const struct layer_entry *entry,
			const struct error *open_err)
{
	struct taking_up *taking_up = context;
	struct model *model = taking_up->model;
	struct filling filling = { .model = model,
				   .klass = entry->klass,
				   .name = entry->name,
				   .any_shape = true,
				   .err = *open_err };
	struct content *content = NULL;
	char text[320];

	if (entry->file) {
		filling_find(&filling);
		content = content_of(&filling, entry);
	}
	backing_unref(entry->file);
	if (content && filling_put(&filling, content) == 0) {
		taking_up->found++;
		return;
	}
	model->left_alone = true;
	log_add(model->log, "%s/%s/%s.bin: left alone: %s", layer_path(model->layer),
		class_name(entry->klass), entry->name,
		filling.err.code ? error_describe(&filling.err, text, sizeof(text))
				 : "out of memory");
}

/* "CLASS/NAME": cut at the slash. */
static bool split_path(char *path, enum organ_class *klass, const char **name)
{
	char *slash = strchr(path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	*name = slash + 1;
	for (*klass = 0; *klass < CLASSES; (*klass)++)
		if (strcmp(path, class_name(*klass)) == 0)
			return true;
	return false;
}

/* A move that was cut short: what is moved is where it was, or at both places, or done. */
static void finish_move(struct model *model)
{
	char text[2 * NAME_MAX + 64], *line = text, *end;
	enum organ_class klass, new_class;
	const char *name, *new_name;
	uint32_t tensor;
	int rc;

	if (layer_noted(model->layer, text, sizeof(text)) == 0)
		return;
	end = strchr(line, '\n');
	if (end && end[1]) {
		*end = '\0';
		end[1 + strcspn(end + 1, "\n")] = '\0';
		if (split_path(line, &klass, &name) && split_path(end + 1, &new_class, &new_name) &&
		    model_find(model, klass, name, strlen(name), &tensor)) {
			rc = graft_move(model, tensor, new_class, new_name);
			model->left_alone |= rc < 0 && rc != -ENOENT && rc != -EINVAL;
		}
	}
	layer_noted_done(model->layer);
}

void graft_take_up(struct model *model)
{
	struct taking_up taking_up = { model, 0 };

	if (layer_each(model->layer, take_up_one, &taking_up) < 0) {
		model->left_alone = true;
		log_add(model->log, "%s: not all of it can be listed; left alone",
			layer_path(model->layer));
	}
	finish_move(model);
	if (taking_up.found)
		log_add(model->log,
			"%s: took up %" PRIu32 " grafts that an earlier mount left in %s",
			model->name, taking_up.found, layer_path(model->layer));
}
