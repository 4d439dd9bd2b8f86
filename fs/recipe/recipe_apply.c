/* SPDX-License-Identifier: MIT */
/* recipe_apply.c - see recipe_replay_internal.h: makes the changes of a recipe. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/type_edit.h"
#include "fs/edit/undo.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/recipe/recipe_replay_internal.h"
#include "fs/storage/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int remove_slot(struct model *model, const struct recipe_plan_graft *plan)
{
	uint32_t tensor;

	if (!model_find_slot(model, plan->place.klass, plan->name, strlen(plan->name), &tensor))
		return -ENOENT;
	return graft_remove(model, tensor);
}

static int apply_graft(const struct recipe_replay *replay, const struct recipe_graft *graft,
		       const struct recipe_plan_graft *plan)
{
	const struct recipe_request *request = replay->request;
	struct model *model = replay->model;

	switch (plan->how) {
	case RECIPE_COPY:
		return graft_fill_place(model, &plan->place, plan->stage, plan->donor);
	case RECIPE_REFERENCE:
		return graft_refer(model, &plan->place, &plan->organ, plan->file, plan->offset,
				   graft->donor
					   ? replay->recipe.donors[graft->donor - 1].fingerprint
					   : replay->recipe.base.fingerprint);
	case RECIPE_LINK:
		return graft_symlink_place(model, &plan->place, plan->target, request->uid,
					   request->gid);
	default:
		return remove_slot(model, plan);
	}
}

/* Links come last: one may lead to another slot of this mount. */
static int apply_grafts(const struct recipe_replay *replay)
{
	int rc = 0;

	for (int links = 0; links <= 1; links++)
		for (size_t i = 0; rc == 0 && i < replay->recipe.n_grafts; i++)
			if ((replay->grafts[i].how == RECIPE_LINK) == (links == 1))
				rc = apply_graft(replay, &replay->recipe.grafts[i],
						 &replay->grafts[i]);
	return rc;
}

/* New stage with that text and the newline that ends a file. NULL with *rc set. */
static struct stage *stage_text(struct model *model, const struct recipe_text *text, int *rc)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = empty ? stage_new(model->layer, empty) : NULL;

	*rc = stage ? stage_write(stage, text->bytes, text->length, 0) : -ENOMEM;
	if (*rc == 0)
		*rc = stage_write(stage, "\n", 1, text->length);
	view_unref(empty);
	if (*rc == 0)
		return stage;
	stage_free(stage);
	return NULL;
}

static int apply_key(struct model *model, const struct recipe_key *key)
{
	struct value_type type = { KV_STRING, 0 };
	char name[KEY_FILENAME_MAX + 1];
	struct stage *stage;
	uint32_t i;
	int rc;

	key_filename(key->key.bytes, key->key.length, name);
	if (key->removed)
		return metadata_find(model->metadata, name, &i) ? metadata_edit_remove(model, i)
								: -ENOENT;
	stage = stage_text(model, &key->value, &rc);
	if (!stage)
		return rc;
	/* Without a type the key gets the one that a user's write to its file would give. */
	if (key->type.bytes && value_type_parse(key->type.bytes, key->type.length, &type))
		stage_set_type(stage, STAGE_WANTED, type);
	rc = metadata_edit_fill(model, name, stage);
	stage_free(stage);
	return rc;
}

static int apply_adapter(const struct recipe_replay *replay, size_t i)
{
	const struct recipe_adapter *adapter = &replay->recipe.adapters[i];
	const struct recipe_request *request = replay->request;
	struct stage *stage;
	int rc;

	if (replay->targets[i])
		return adapter_edit_link(replay->model, adapter->file.bytes, replay->targets[i],
					 request->uid, request->gid);
	stage = stage_text(replay->model, &adapter->value, &rc);
	if (stage)
		rc = adapter_edit_write(replay->model, adapter->file.bytes, stage);
	stage_free(stage);
	return rc;
}

/* Remove the alpha that copied halves took from their donor, if the recipe has none: the user had
 * removed it. */
static int forget_alpha(const struct recipe_replay *replay)
{
	static const char file[] = ADAPTERS_COPIED ".alpha";
	float alpha;

	for (size_t i = 0; i < replay->recipe.n_adapters; i++)
		if (strcmp(replay->recipe.adapters[i].file.bytes, file) == 0)
			return 0;
	return adapters_copied_alpha(replay->model, &alpha)
		       ? adapter_edit_remove(replay->model, file)
		       : 0;
}

static int apply_types(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;
	struct type_choice *choices = calloc(recipe->n_types + 1, sizeof(*choices));
	enum organ_class klass;
	int rc = choices ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < recipe->n_types; i++) {
		const struct recipe_type *type = &recipe->types[i];
		const char *name = recipe_slot_name(replay, &type->slot, &klass);

		if (!name || !type_by_name(type->type.bytes, type->type.length, &choices[i].type) ||
		    !model_find_slot(replay->model, klass, name, strlen(name), &choices[i].slot))
			rc = error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				       "there is no slot %.120s to show in a type",
				       type->slot.bytes);
	}
	if (rc == 0)
		rc = type_edit_choose(replay->model, choices, recipe->n_types);
	free(choices);
	return rc;
}

int recipe_apply(struct recipe_replay *replay)
{
	int rc = apply_grafts(replay);

	if (rc == 0)
		rc = forget_alpha(replay);
	for (size_t i = 0; rc == 0 && i < replay->recipe.n_keys; i++)
		rc = apply_key(replay->model, &replay->recipe.keys[i]);
	for (size_t i = 0; rc == 0 && i < replay->recipe.n_adapters; i++)
		rc = apply_adapter(replay, i);
	return rc == 0 && replay->recipe.n_types ? apply_types(replay) : rc;
}

void recipe_list(const struct recipe_replay *replay, struct undo_list *list)
{
	const struct recipe *recipe = &replay->recipe;
	char name[KEY_FILENAME_MAX + 1];

	for (size_t i = 0; i < recipe->n_grafts; i++)
		undo_list_add(list, LAYER_TYPED_SLOT, replay->grafts[i].place.klass,
			      replay->grafts[i].name);
	for (size_t i = 0; i < recipe->n_types; i++) {
		enum organ_class klass = CLASSES;
		const char *slash = strchr(recipe->types[i].slot.bytes, '/');

		if (slash && class_find(recipe->types[i].slot.bytes,
					(size_t)(slash - recipe->types[i].slot.bytes), &klass))
			undo_list_add(list, LAYER_TYPED_SLOT, klass, slash + 1);
	}
	for (size_t i = 0; i < recipe->n_keys; i++) {
		key_filename(recipe->keys[i].key.bytes, recipe->keys[i].key.length, name);
		undo_list_add(list, LAYER_KEY, 0, name);
	}
	for (size_t i = 0; i < recipe->n_adapters; i++)
		undo_list_add(list, LAYER_ADAPTER, 0, recipe->adapters[i].file.bytes);
	/* Copied halves may set alpha without the recipe. */
	undo_list_add(list, LAYER_ADAPTER, 0, ADAPTERS_COPIED ".alpha");
}
