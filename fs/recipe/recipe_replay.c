/* SPDX-License-Identifier: MIT */
/* recipe_replay.c - see recipe_replay.h. */
#include "fs/recipe/recipe_replay.h"
#include "fs/base/donor.h"
#include "fs/edit/journal.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/undo.h"
#include "fs/layer/layer.h"
#include "fs/metadata/key_filename.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe_donors.h"
#include "fs/recipe/recipe_replay_internal.h"
#include "fs/recipe/recipe_same.h"
#include "fs/recipe/recipe_state.h"
#include "fs/storage/backing.h"
#include "fs/util/credentials.h"
#include "fs/util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void recipe_say(const struct recipe_replay *replay, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vadd(replay->model->log, replay->request->report, format, args);
	va_end(args);
}

/* Check that the recipe is for this base and the mount's options. */
static int check_base(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;
	const char *merged = recipe->options.merged.bytes;
	struct model *model = replay->model;
	bool same;
	int rc;

	journal_begin(model);
	same = strcmp(model_fingerprint(model), recipe->base.fingerprint) == 0;
	journal_end(model);
	rc = same ? recipe_has_contents(replay->request->ancestry, model->base, model->gguf,
					&recipe->base)
		  : 0;
	if (rc < 0)
		return rc;
	if (rc == 0)
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the recipe is for another base, %.100s of %" PRIu64
				 " bytes, fingerprint %s%s%s",
				 recipe->base.name.bytes, recipe->base.size,
				 recipe->base.fingerprint, same ? ", contents " : "",
				 same ? recipe->base.contents : "");
	if (!model->follow != (recipe->options.blocks.bytes != NULL))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the recipe is for a mount with -o blocks=%s",
				 model->follow ? "keep" : "follow");
	if (model->keep_types != (recipe->options.type.bytes != NULL))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the recipe is for a mount with -o type=%s",
				 model->keep_types ? "donor" : "keep");
	/* Recipes of version 0.2 name F16 alone. */
	if (!merged)
		merged = encode_choice_name(ENCODE_Q8_0);
	if (recipe_makes_values(recipe) && strcmp(merged, encode_choice_name(model->merged)) != 0)
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "the recipe is for a mount with -o merged=%.40s%s", merged,
				 recipe->options.merged.bytes ? "" : ", as it names no type");
	return 0;
}

/* Does the recipe give the key the base's value? A mount does not record that as an edit. */
static bool is_no_edit(const struct recipe_replay *replay, const struct recipe_key *key)
{
	struct value_type type = { KV_STRING, 0 };
	char name[KEY_FILENAME_MAX + 1];
	struct memory_bytes file = { .size = key->value.length + 1 };
	struct source source;
	char *text;
	bool is;

	if (key->removed || !key->value.bytes ||
	    (key->type.bytes && !value_type_parse(key->type.bytes, key->type.length, &type)))
		return false;
	text = malloc(file.size);
	if (!text)
		return false;
	memcpy(text, key->value.bytes, key->value.length);
	text[key->value.length] = '\n';
	file.bytes = (const uint8_t *)text;
	source = source_of_memory(&file);
	key_filename(key->key.bytes, key->key.length, name);
	is = metadata_edit_is_none(replay->model, name, key->type.bytes ? &type : NULL, &source);
	free(text);
	return is;
}

/* Does the model, whose recipe is now, equal the one of this recipe? 1, 0 or -ENOMEM. */
static int is_done(const struct recipe_replay *replay, const struct recipe *now)
{
	struct recipe wanted = replay->recipe;
	struct recipe_key *keys = calloc(wanted.n_keys + 1, sizeof(*keys));
	bool same;

	if (!keys)
		return -ENOMEM;
	wanted.keys = keys;
	wanted.n_keys = 0;
	for (size_t i = 0; i < replay->recipe.n_keys; i++)
		if (!is_no_edit(replay, &replay->recipe.keys[i]))
			keys[wanted.n_keys++] = replay->recipe.keys[i];
	same = recipe_same(now, &wanted);
	free(keys);
	return same;
}

/* Compare the model with the recipe. 1: equal; 0: the model is unchanged; or -errno. */
static int compare(struct recipe_replay *replay)
{
	struct snapshot snapshot;
	struct recipe now = { 0 };
	int rc = model_snapshot(replay->model, &snapshot);

	if (rc < 0)
		return rc;
	if (recipe_is_needed(replay->model, &snapshot)) {
		rc = recipe_of_model(replay->model, &snapshot, replay->request->ancestry,
				     replay->request->places.stop, &now, &replay->err);
		if (rc == 0)
			rc = is_done(replay, &now);
		if (rc == 0)
			rc = error_set(
				&replay->err, EINVAL, ERROR_NO_OFFSET,
				"the model is changed already, and not as the recipe says; "
				"%s",
				replay->request->report
					? "to mount it unchanged, use -o fresh or another layer="
					: "to undo the changes: echo all > .undo");
		recipe_release(&now);
	}
	snapshot_release(&snapshot);
	return rc;
}

static int make_room(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;
	struct recipe_places places = replay->request->places;

	places.ancestry = replay->request->ancestry;
	places.model = replay->model->links ? replay->model : NULL;
	places.uid = replay->request->uid;
	places.gid = replay->request->gid;
	replay->search = recipe_search_new(recipe, &places);
	replay->found = calloc(recipe->n_donors + 1, sizeof(*replay->found));
	replay->grafts = calloc(recipe->n_grafts + 1, sizeof(*replay->grafts));
	replay->targets = calloc(recipe->n_adapters + 1, sizeof(*replay->targets));
	replay->lacking = calloc(recipe->n_adapters + 1, sizeof(*replay->lacking));
	return replay->search && replay->found && replay->grafts && replay->targets &&
			       replay->lacking
		       ? 0
		       : -ENOMEM;
}

static void release(struct recipe_replay *replay)
{
	for (size_t d = 1; replay->found && d <= replay->recipe.n_donors; d++)
		if (replay->found[d].alone || replay->found[d].base.file)
			recipe_found_release(&replay->found[d]);
	for (size_t i = 0; replay->grafts && i < replay->recipe.n_grafts; i++) {
		stage_free(replay->grafts[i].stage);
		donor_unref(replay->grafts[i].donor);
		backing_unref(replay->grafts[i].file);
	}
	undo_ready_free(replay->ready);
	undo_list_release(&replay->list);
	free(replay->found);
	free(replay->grafts);
	free(replay->targets);
	free(replay->lacking);
	recipe_search_free(replay->search);
	recipe_release(&replay->recipe);
}

static int check_missing(struct recipe_replay *replay)
{
	return replay->missing
		       ? error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				   "%" PRIu32
				   " required input%s %s not found; searched: their last "
				   "known paths, the directory of the recipe, and -o donors=",
				   replay->missing, replay->missing == 1 ? "" : "s",
				   replay->missing == 1 ? "is" : "are")
		       : 0;
}

/* Call run() with the rights of the requesting process. */
static int run_as_asker(struct recipe_replay *replay, int (*run)(struct recipe_replay *replay))
{
	struct credentials before;
	int rc = credentials_assume(replay->request->uid, replay->request->gid, &before);

	if (rc < 0)
		return rc;
	rc = run(replay);
	credentials_restore(&before);
	return rc;
}

/* Plan and stage all but the merge; changes nothing. */
static int prepare(struct recipe_replay *replay)
{
	int rc = run_as_asker(replay, recipe_plan);

	if (rc == 0)
		rc = recipe_stage(replay);
	return rc == 0 ? check_missing(replay) : rc;
}

/* Set the locations of the merge's models, one per model of the recipe. */
static int find_models(struct recipe_replay *replay, struct merge_found *models)
{
	const struct recipe *recipe = &replay->recipe;
	const struct recipe_places *places = &replay->request->places;

	for (size_t i = 0; i < recipe->n_models; i++) {
		const uint32_t donor = recipe->models[i].donor;
		struct backing *file = donor ? replay->found[donor].file : replay->model->base;

		models[i] = (struct merge_found){ .written = recipe->models[i].written.bytes };
		if (!file) {
			replay->missing++;
			recipe_say(replay, ".recipe: the model %s of the merge is not found",
				   recipe->donors[donor - 1].name.bytes);
			continue;
		}
		models[i].path = backing_path(file);
		if (!donor)
			models[i].model = replay->model;
		for (uint32_t k = 0; k < places->n_models; k++)
			if (places->models[k]->base == file)
				models[i].model = places->models[k];
	}
	return check_missing(replay);
}

/* Put the recipe's merge in force, first, because grafts are planned over its results. */
static int put_merge(struct recipe_replay *replay)
{
	const struct recipe_request *request = replay->request;
	const struct recipe *recipe = &replay->recipe;
	struct merge_found *models = calloc(recipe->n_models + 1, sizeof(*models));
	const struct merge_request merge = { .text = recipe->merge.config.bytes,
					     .size = recipe->merge.config.length,
					     .models = request->places.models,
					     .n_models = request->places.n_models,
					     .found = models,
					     .n_found = recipe->n_models,
					     .uid = request->uid,
					     .gid = request->gid,
					     .report = request->report,
					     .stop = request->places.stop };
	int rc = models ? find_models(replay, models) : -ENOMEM;

	if (rc == 0)
		rc = merge_edit_write(replay->model, &merge);
	replay->merged = rc == 0;
	free(models);
	return rc < 0 && !replay->err.code
		       ? error_set(&replay->err, -rc, ERROR_NO_OFFSET,
				   "the recipe's merge cannot be put in force: %s", strerror(-rc))
		       : rc;
}

/* Make all planned changes, in the transaction that the layer holds. */
static int publish(struct recipe_replay *replay)
{
	recipe_list(replay, &replay->list);
	replay->ready = undo_ready_new(&replay->list);
	return replay->ready ? recipe_apply(replay) : -ENOMEM;
}

static void publish_begin(struct model *model)
{
	journal_begin(model);
	journal_begin_publish(model);
	journal_end(model);
}

static void publish_end(struct model *model)
{
	journal_begin(model);
	journal_end_publish(model);
	journal_end(model);
}

/* Apply a recipe with a merge: grafts are planned over the merge's results. */
static int do_over_merge(struct recipe_replay *replay)
{
	int rc = put_merge(replay);

	if (rc == 0)
		rc = prepare(replay);
	return rc == 0 ? publish(replay) : rc;
}

/* Restore the base in memory after the transaction is rolled back. */
static void take_back(struct recipe_replay *replay)
{
	struct model *model = replay->model;
	int ended = 0;

	if (replay->ready) {
		journal_begin(model);
		undo_take_back(model, replay->ready);
		journal_end(model);
	}
	if (replay->merged)
		ended = merge_edit_take_back(model);
	if (ended < 0 && ended != -ENOENT) {
		replay->stays = true;
		recipe_say(replay,
			   ".recipe: refused, but its merge stays in force until the unmount: %s",
			   strerror(-ended));
	}
}

/* Run run() in one transaction. The model is not assembled meanwhile. */
static int run_held(struct recipe_replay *replay, int (*run)(struct recipe_replay *replay))
{
	struct model *model = replay->model;
	int ended, rc = layer_hold(model->layer);

	if (rc < 0)
		return rc;
	publish_begin(model);
	rc = run(replay);
	ended = layer_hold_end(model->layer, rc == 0);
	if (rc == 0)
		rc = ended;
	if (rc < 0)
		take_back(replay);
	publish_end(model);
	return rc;
}

static int search(struct recipe_replay *replay)
{
	const int rc = make_room(replay);

	return rc < 0 ? rc : recipe_find_donors(replay);
}

static int do_all(struct recipe_replay *replay)
{
	int rc = run_as_asker(replay, search);

	if (rc == 0 && replay->recipe.merge.config.bytes)
		return run_held(replay, do_over_merge);
	if (rc == 0)
		rc = prepare(replay);
	return rc == 0 ? run_held(replay, publish) : rc;
}

static int replay_alone(struct recipe_replay *replay)
{
	struct model *model = replay->model;
	int rc;

	journal_begin(model);
	rc = journal_begin_replay(model);
	journal_end(model);
	if (rc < 0)
		return rc;
	rc = compare(replay);
	if (rc == 0)
		rc = do_all(replay);
	else if (rc == 1)
		recipe_say(replay, ".recipe: the model is already as the recipe says");
	journal_begin(model);
	journal_end_replay(model);
	journal_end(model);
	return rc > 0 ? 0 : rc;
}

int recipe_replay(struct model *model, const struct recipe_request *request)
{
	struct recipe_replay replay = { .model = model, .request = request };
	char text[320];
	int rc = recipe_read(request->text, request->size, &replay.recipe, &replay.err);

	/* Ignore the recipe of an unchanged model, which a copy of a whole tree brings along. */
	if (rc == 0 && recipe_is_empty(&replay.recipe)) {
		release(&replay);
		return 0;
	}
	if (rc == 0)
		rc = check_base(&replay);
	if (rc == 0)
		rc = replay_alone(&replay);
	if (rc < 0 && !replay.stays)
		recipe_say(&replay, ".recipe: refused: %s; nothing is changed",
			   replay.err.code ? error_describe(&replay.err, text, sizeof(text))
					   : strerror(-rc));
	release(&replay);
	return rc == -EFBIG || rc == -ENOENT ? -EINVAL : rc;
}
