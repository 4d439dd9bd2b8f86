/* SPDX-License-Identifier: MIT */
/* recipe_plan.c - see recipe_replay_internal.h: finds and checks all that a recipe needs before any
 * change. */
#include "fs/base/reference.h"
#include "fs/edit/symlinks.h"
#include "fs/metadata/metadata.h"
#include "fs/metadata/value_parse.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe_donors.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/recipe/recipe_replay_internal.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tensor/organ_views.h"
#include "gguf/cursor.h"
#include "gguf/types.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct gguf_tensor *recipe_find_tensor(const struct recipe_replay *replay,
					     const struct recipe_graft *graft,
					     struct backing **file)
{
	const struct model *model = replay->model;
	const struct recipe_found *found;

	if (graft->donor == RECIPE_NO_DONOR || !graft->from.bytes)
		return NULL;
	found = graft->donor ? &replay->found[graft->donor] : NULL;
	*file = found ? found->file : model->base;
	if (!*file || (found && !found->gguf))
		return NULL;
	return gguf_tensor(found ? found->gguf : model->gguf, graft->from.bytes,
			   graft->from.length);
}

const char *recipe_slot_name(struct recipe_replay *replay, const struct recipe_text *slot,
			     enum organ_class *klass)
{
	const char *slash = strchr(slot->bytes, '/');

	if (slash && class_find(slot->bytes, (size_t)(slash - slot->bytes), klass) && slash[1] &&
	    slash[1] != '.' && strlen(slash + 1) <= ANATOMY_NAME_MAX && !strchr(slash + 1, '/') &&
	    strlen(slot->bytes) == slot->length)
		return slash + 1;
	error_set(&replay->err, EINVAL, ERROR_NO_OFFSET, "%.120s is the name of no slot",
		  slot->bytes);
	return NULL;
}

static int plan_place(struct recipe_replay *replay, const struct recipe_graft *graft,
		      struct recipe_plan_graft *plan)
{
	const char *name = recipe_slot_name(replay, &graft->slot, &plan->place.klass);

	if (!name)
		return -EINVAL;
	snprintf(plan->name, sizeof(plan->name), "%s", name);
	plan->place.name = plan->name;
	/* A copy is identified by its hash, not by the shape of the slot. */
	plan->place.from_recipe = graft->how == RECIPE_COPY;
	plan->place.tensor = graft->tensor.bytes;
	plan->place.tensor_length = graft->tensor.length;
	plan->how = graft->how;
	return 0;
}

int recipe_check_organ(struct recipe_replay *replay, const struct recipe_plan_graft *plan,
		       const struct organ *organ)
{
	struct error err = { 0 };
	const int rc = graft_check(replay->model, &plan->place, organ, &err);

	if (rc < 0 && err.code)
		error_set(&replay->err, err.code, ERROR_NO_OFFSET, "%s/%.80s: %.150s",
			  class_name(plan->place.klass), plan->name, err.text);
	return rc;
}

static int plan_tensor(struct recipe_replay *replay, struct recipe_plan_graft *plan,
		       const struct gguf_tensor *tensor, struct backing *file)
{
	plan->organ = organ_of_tensor(tensor);
	plan->offset = tensor->offset;
	plan->file = backing_ref(file);
	return recipe_check_organ(replay, plan, &plan->organ);
}

static int lacks_tensor(struct recipe_replay *replay, const struct recipe_graft *graft)
{
	return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
			 "the donor %.100s has no tensor %.100s",
			 graft->donor ? replay->recipe.donors[graft->donor - 1].name.bytes : "base",
			 graft->from.bytes);
}

static const struct recipe_source *source_of(const struct recipe_replay *replay, uint32_t donor)
{
	return donor == RECIPE_BASE ? &replay->recipe.base : &replay->recipe.donors[donor - 1];
}

/* Is the content the recipe's organ in the recipe's file? 1, 0 or -errno. */
static int is_meant(const struct recipe_replay *replay, const struct recipe_graft *graft,
		    const struct content *content)
{
	const struct recipe_source *source = source_of(replay, graft->donor);
	const struct organ_location located = { content->organ, content->file, content->offset,
						NULL };
	struct reference seen;
	struct view *view = NULL;
	struct error err;
	int rc = reference_parse(content->seen, &seen, &err) == 0 &&
		 strcmp(seen.fingerprint, source->fingerprint) == 0 &&
		 seen.tensor_length == graft->from.length &&
		 memcmp(seen.tensor, graft->from.bytes, seen.tensor_length) == 0;

	reference_release(&seen);
	if (rc == 1)
		rc = recipe_has_contents(replay->request->ancestry, content->file, NULL, source);
	if (rc == 1 && graft->organ[0]) {
		view = organ_location_view(&located);
		rc = view ? recipe_is_organ(replay, graft, view) : -ENOMEM;
	}
	view_unref(view);
	return rc;
}

/* Does the link's path lead to the recipe's organ? 1, 0 or -errno. */
static int leads_there(const struct recipe_replay *replay, const struct recipe_graft *graft,
		       const struct recipe_plan_graft *plan)
{
	const struct recipe_request *request = replay->request;
	struct content *content;
	struct error err;
	int rc = 0;

	if (!graft->target.bytes)
		return 0;
	content = symlinks_content(replay->model->links, replay->model, plan->place.klass,
				   graft->target.bytes, request->uid, request->gid, NULL, &err);
	if (content && content->seen && !content->broken)
		rc = is_meant(replay, graft, content);
	content_unref(content);
	return rc;
}

/* Plan a link. If its path leads elsewhere now, plan a reference to the tensor, or a link to the
 * organ file that was found. */
static int plan_link(struct recipe_replay *replay, const struct recipe_graft *graft,
		     struct recipe_plan_graft *plan)
{
	const struct gguf_tensor *tensor;
	struct backing *file;
	int rc;

	plan->target = graft->target.bytes;
	if (!plan->target && (graft->donor == RECIPE_NO_DONOR || !graft->from.bytes))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the link %.120s has neither target nor donor", graft->slot.bytes);
	if (graft->donor == RECIPE_NO_DONOR || !graft->from.bytes)
		return 0;
	rc = leads_there(replay, graft, plan);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	plan->lacks = graft->donor != RECIPE_BASE && !replay->found[graft->donor].file;
	if (plan->lacks)
		return 0;
	if (graft->donor != RECIPE_BASE && !replay->found[graft->donor].gguf) {
		plan->target = backing_path(replay->found[graft->donor].file);
		return 0;
	}
	tensor = recipe_find_tensor(replay, graft, &file);
	if (!tensor)
		return lacks_tensor(replay, graft);
	plan->how = RECIPE_REFERENCE;
	return plan_tensor(replay, plan, tensor, file);
}

static int plan_reference(struct recipe_replay *replay, const struct recipe_graft *graft,
			  struct recipe_plan_graft *plan)
{
	struct backing *file;
	const struct gguf_tensor *tensor = recipe_find_tensor(replay, graft, &file);

	if (tensor)
		return plan_tensor(replay, plan, tensor, file);
	plan->lacks = graft->donor != RECIPE_BASE && !replay->found[graft->donor].file;
	return plan->lacks ? 0 : lacks_tensor(replay, graft);
}

static int plan_removed(struct recipe_replay *replay, const struct recipe_plan_graft *plan)
{
	uint32_t tensor;

	if (model_find_slot(replay->model, plan->place.klass, plan->name, strlen(plan->name),
			    &tensor))
		return 0;
	return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET, "there is no slot %s/%s",
			 class_name(plan->place.klass), plan->name);
}

static int plan_graft(struct recipe_replay *replay, size_t i)
{
	const struct recipe_graft *graft = &replay->recipe.grafts[i];
	struct recipe_plan_graft *plan = &replay->grafts[i];
	int rc = plan_place(replay, graft, plan);

	if (rc < 0)
		return rc;
	switch (graft->how) {
	case RECIPE_REFERENCE:
		return plan_reference(replay, graft, plan);
	case RECIPE_LINK:
		return plan_link(replay, graft, plan);
	case RECIPE_REMOVED:
		return plan_removed(replay, plan);
	default:
		return 0;
	}
}

static int plan_key(struct recipe_replay *replay, const struct recipe_key *key)
{
	struct memory_bytes memory = { (const uint8_t *)key->value.bytes, key->value.length };
	const struct source source = source_of_memory(&memory);
	struct value_bytes bytes = { .bytes = NULL };
	struct value_type type = { KV_STRING, 0 };
	struct error err = { 0 };
	int rc = 0;

	if (key->key.length == 0 || metadata_is_fixed(key->key.bytes, key->key.length))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the key \"%.100s\" cannot be changed", key->key.bytes);
	/* A value without a type is checked when it is written. */
	if (key->removed || !key->type.bytes)
		return 0;
	if (!value_type_parse(key->type.bytes, key->type.length, &type))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "key %.100s: \"%.60s\" is not a type of metadata", key->key.bytes,
				 key->type.bytes);
	rc = value_parse(&source, type, 8, &bytes, &err);
	free(bytes.bytes);
	return rc < 0 ? error_set(&replay->err, -rc, ERROR_NO_OFFSET, "key %.60s: %.150s",
				  key->key.bytes, err.text)
		      : 0;
}

/* Does the link's path lead to the recipe's donor? */
static bool adapter_leads_there(const struct recipe_replay *replay,
				const struct recipe_adapter *adapter)
{
	const struct recipe_request *request = replay->request;
	const struct recipe_source *source = source_of(replay, adapter->donor);
	char print[FINGERPRINT_TEXT];
	struct backing *file;
	struct gguf *gguf;
	bool there;

	if (!recipe_probe_gguf(replay->model, adapter->target.bytes, request->uid, request->gid,
			       &file, &gguf))
		return false;
	there = fingerprint(file, gguf, print) == 0 && strcmp(print, source->fingerprint) == 0 &&
		recipe_has_contents(request->ancestry, file, gguf, source) == 1;
	gguf_free(gguf);
	backing_unref(file);
	return there;
}

static int plan_adapter(struct recipe_replay *replay, size_t i)
{
	const struct recipe_adapter *adapter = &replay->recipe.adapters[i];
	enum adapter_file kind;
	size_t length;

	if (strlen(adapter->file.bytes) != adapter->file.length ||
	    adapter->file.length > NAME_MAX || strchr(adapter->file.bytes, '/') ||
	    (adapter->file.bytes[0] == '.' && strcmp(adapter->file.bytes, ADAPTERS_IMPORTANCE)) ||
	    !adapters_parse(adapter->file.bytes, &kind, &length) ||
	    (kind == ADAPTER_GGUF) != (adapter->value.bytes == NULL))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "adapters/%.100s is neither a link to an adapter nor a setting",
				 adapter->file.bytes);
	if (kind == ADAPTER_GGUF && !adapter->target.bytes && adapter->donor == RECIPE_BASE)
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "adapters/%.100s: the base cannot be its own adapter",
				 adapter->file.bytes);
	if (kind == ADAPTER_GGUF && !adapter->target.bytes && adapter->donor == RECIPE_NO_DONOR)
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the link adapters/%.100s has neither target nor donor",
				 adapter->file.bytes);
	replay->targets[i] = adapter->target.bytes;
	if (kind != ADAPTER_GGUF || adapter->donor == RECIPE_NO_DONOR ||
	    adapter->donor == RECIPE_BASE)
		return 0;
	if (adapter->target.bytes && adapter_leads_there(replay, adapter))
		return 0;
	if (replay->found[adapter->donor].file)
		replay->targets[i] = backing_path(replay->found[adapter->donor].file);
	else
		replay->lacking[i] = true;
	return 0;
}

static int plan_type(struct recipe_replay *replay, const struct recipe_type *type)
{
	enum organ_class klass;
	uint32_t id;

	if (!recipe_slot_name(replay, &type->slot, &klass))
		return -EINVAL;
	if (!type_by_name(type->type.bytes, type->type.length, &id))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.40s\": ggml has no such type", type->type.bytes);
	return 0;
}

int recipe_find_donors(struct recipe_replay *replay)
{
	int rc = 0;

	for (size_t d = 1; rc == 0 && d <= replay->recipe.n_donors; d++)
		rc = recipe_find_donor(replay->search, &replay->recipe.donors[d - 1],
				       &replay->found[d]);
	return rc;
}

int recipe_plan(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;
	const atomic_bool *stop = replay->request->places.stop;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < recipe->n_grafts; i++)
		rc = stop && atomic_load(stop) ? -EINTR : plan_graft(replay, i);
	for (size_t i = 0; rc == 0 && i < recipe->n_keys; i++)
		rc = plan_key(replay, &recipe->keys[i]);
	for (size_t i = 0; rc == 0 && i < recipe->n_adapters; i++)
		rc = plan_adapter(replay, i);
	for (size_t i = 0; rc == 0 && i < recipe->n_types; i++)
		rc = plan_type(replay, &recipe->types[i]);
	return rc;
}
