/* SPDX-License-Identifier: MIT */
/* graft.c - see graft.h. */
#include "fs/graft.h"
#include "fs/files.h"
#include "fs/inode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct filling {
	struct model *model;
	uint32_t tensor;
	struct organ organ; /* what check() found; its name is ours until keep() */
	struct error err;
};

static int check_organ(void *context, const struct source *source)
{
	struct filling *filling = context;
	int rc = organ_parse(source, &filling->organ, &filling->err);

	if (rc == 0)
		rc = organ_fits(&filling->organ, &filling->model->gguf->tensors[filling->tensor],
				filling->model->any_shape, &filling->err);
	/* A file that is no organ is an invalid argument to whoever closed it. */
	return rc == -EBADMSG ? -EINVAL : rc;
}

/* The durable file as the slot's content; the organ's name and fd are used up. */
static struct content *make_content(struct model *model, uint32_t tensor, const struct organ *organ,
				    int fd)
{
	struct backing *file;
	char name[ORGAN_PATH_MAX], path[4096];

	snprintf(path, sizeof(path), "%s/%s", layer_path(model->layer),
		 model_organ_path(model, tensor, name));
	file = backing_adopt(fd, path, NULL);
	if (!file) {
		free((char *)organ->name);
		errno = EIO;
		return NULL;
	}
	return content_new(inode_new(model), organ, file);
}

static struct view *keep_organ(void *context, unsigned number)
{
	struct filling *filling = context;
	struct model *model = filling->model;
	const struct organ_place *place = &model->places[filling->tensor];
	struct content *content = NULL;
	struct view *view = NULL;
	int fd;

	pthread_mutex_lock(&model->commit);
	fd = layer_keep(model->layer, number, place->klass, place->name);
	if (fd >= 0) {
		content = make_content(model, filling->tensor, &filling->organ, fd);
		filling->organ.name = NULL;
	}
	if (content) {
		view = files_organ(model, filling->tensor, content);
		slots_put(model->slots, filling->tensor, content);
	}
	pthread_mutex_unlock(&model->commit);
	if (fd < 0)
		errno = -fd;
	else if (!view)
		errno = ENOMEM;
	return view;
}

int graft_fill(struct model *model, uint32_t tensor, struct stage *stage)
{
	struct filling filling = { .model = model, .tensor = tensor };
	const struct stage_commit commit = { check_organ, keep_organ, &filling };
	const int rc = stage_commit(stage, &commit);
	char path[ORGAN_PATH_MAX], text[320];

	free((char *)filling.organ.name);
	if (rc == 0)
		return 0;
	if (filling.err.code)
		error_describe(&filling.err, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", strerror(-rc));
	log_add(model->log, "%s: graft refused: %s; the slot keeps what it had",
		model_organ_path(model, tensor, path), text);
	return rc;
}

struct taking_up {
	struct model *model;
	uint32_t found;
};

/* The organ in a file of the layer as the tensor's content. NULL with err set. */
static struct content *content_of_file(struct model *model, uint32_t tensor, struct backing *file,
				       struct error *err)
{
	const struct source source = backing_source(file);
	struct content *content;
	struct organ organ;

	if (organ_parse(&source, &organ, err) < 0)
		return NULL;
	/* What close() once confirmed stays, whatever shapes this mount accepts. */
	if (organ_fits(&organ, &model->gguf->tensors[tensor], true, err) < 0) {
		free((char *)organ.name);
		return NULL;
	}
	content = content_new(inode_new(model), &organ, backing_ref(file));
	if (!content)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return content;
}

static void take_up_one(void *context, enum organ_class klass, const char *name,
			struct backing *file, const struct error *open_err)
{
	struct taking_up *taking_up = context;
	struct model *model = taking_up->model;
	struct content *content = NULL;
	struct error err = *open_err;
	char text[320];
	uint32_t tensor;

	if (file && !model_find(model, klass, name, strlen(name), &tensor))
		error_set(&err, ENOENT, ERROR_NO_OFFSET, "no tensor has that name");
	else if (file)
		content = content_of_file(model, tensor, file, &err);
	backing_unref(file);
	if (content) {
		slots_put(model->slots, tensor, content);
		taking_up->found++;
		return;
	}
	model->left_alone = true;
	log_add(model->log, "%s/%s/%s.bin: left alone: %s", layer_path(model->layer),
		class_name(klass), name, error_describe(&err, text, sizeof(text)));
}

void graft_take_up(struct model *model)
{
	struct taking_up taking_up = { model, 0 };

	if (layer_each(model->layer, take_up_one, &taking_up) < 0) {
		model->left_alone = true;
		log_add(model->log, "%s: not all of it can be listed; left alone",
			layer_path(model->layer));
	}
	if (taking_up.found)
		log_add(model->log,
			"%s: took up %" PRIu32 " grafts that an earlier mount left in %s",
			model->name, taking_up.found, layer_path(model->layer));
}
