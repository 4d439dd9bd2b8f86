/* SPDX-License-Identifier: MIT */
/* recipe_lineage.c - see recipe_lineage.h. */
#include "fs/recipe/recipe_lineage.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe_state.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void recipe_lineage_init(struct recipe_lineage *lineage, struct model *model,
			 struct recipe_ancestry *ancestry)
{
	*lineage = (struct recipe_lineage){ .model = model, .ancestry = ancestry };
	pthread_mutex_init(&lineage->lock, NULL);
}

void recipe_lineage_release(struct recipe_lineage *lineage)
{
	free(lineage->text);
	pthread_mutex_destroy(&lineage->lock);
}

/* Bring the text to the snapshot's generation, with the lock held. A failed recipe gives an empty
 * text, because the model must be written in any case. Returns 0 or -ENOMEM. */
static int catch_up(struct recipe_lineage *lineage, const struct snapshot *snapshot)
{
	struct error err = { 0 };

	if (lineage->text && lineage->generation == snapshot->generation)
		return 0;
	free(lineage->text);
	lineage->text = recipe_text_of_model(lineage->model, snapshot, lineage->ancestry, true,
					     &lineage->size, &err);
	lineage->generation = snapshot->generation;
	if (lineage->text || err.code == ENOMEM)
		return lineage->text ? 0 : -ENOMEM;
	lineage->size = 0;
	lineage->text = strdup("");
	log_add(lineage->model->log, "lineage: recipe not embedded in the assembled model: %s",
		err.text);
	return lineage->text ? 0 : -ENOMEM;
}

/* Text for a snapshot. An unchanged model has none: the assembled file equals the base. */
static char *text_of(void *context, const struct snapshot *snapshot, size_t *size)
{
	struct recipe_lineage *lineage = context;
	char *copy = NULL;

	*size = 0;
	if (!recipe_is_needed(lineage->model, snapshot))
		return strdup("");
	pthread_mutex_lock(&lineage->lock);
	if (catch_up(lineage, snapshot) == 0 && (copy = strdup(lineage->text)))
		*size = lineage->size;
	pthread_mutex_unlock(&lineage->lock);
	return copy;
}

void recipe_lineage_show(struct recipe_lineage *lineage)
{
	lineage->model->lineage = (struct lineage){ text_of, lineage };
}
