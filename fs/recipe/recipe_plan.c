/* SPDX-License-Identifier: MIT */
/* recipe_plan.c - see recipe_replay_internal.h: what a recipe needs, found and checked before
 * anything is changed. */
#include "fs/edit/symlinks.h"
#include "fs/layer/layer_reference.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/value_parse.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/recipe/recipe_replay_internal.h"
#include "fs/recipe/recipe_state.h"
#include "fs/tensor/organ_views.h"
#include "fs/util/credentials.h"
#include "gguf/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)

/* The tensor that a graft is from, and the file that it is in. NULL: there is none. */
static const struct gguf_tensor *find_tensor(const struct recipe_replay *replay,
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

/* CLASS/NAME */
static int plan_place(struct recipe_replay *replay, const struct recipe_graft *graft,
		      struct recipe_plan_graft *plan)
{
	const char *slot = graft->slot.bytes, *slash = strchr(slot, '/');

	if (!slash || !class_find(slot, (size_t)(slash - slot), &plan->place.klass) || !slash[1] ||
	    slash[1] == '.' || strlen(slash + 1) > ANATOMY_NAME_MAX || strchr(slash + 1, '/') ||
	    strlen(slot) != graft->slot.length)
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "%.120s is the name of no slot", slot);
	snprintf(plan->name, sizeof(plan->name), "%s", slash + 1);
	plan->place.name = plan->name;
	plan->place.tensor = graft->tensor.bytes;
	plan->place.tensor_length = graft->tensor.length;
	plan->how = graft->how;
	return 0;
}

/* The organ that fills the slot is that tensor. */
static int plan_tensor(struct recipe_replay *replay, struct recipe_plan_graft *plan,
		       const struct gguf_tensor *tensor, struct backing *file)
{
	plan->organ = organ_of_tensor(tensor);
	plan->offset = tensor->offset;
	plan->file = backing_ref(file);
	return graft_check(replay->model, &plan->place, &plan->organ, &replay->err);
}

static int lacks_tensor(struct recipe_replay *replay, const struct recipe_graft *graft)
{
	return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
			 "the donor %.100s has no tensor %.100s",
			 graft->donor ? replay->recipe.donors[graft->donor - 1].name.bytes : "base",
			 graft->from.bytes);
}

/* The path leads where it did: to that tensor of a file with the donor's fingerprint. */
static bool leads_there(const struct recipe_replay *replay, const struct recipe_graft *graft,
			const struct recipe_plan_graft *plan)
{
	const struct recipe_request *request = replay->request;
	struct layer_reference seen;
	struct content *content;
	struct error err;
	bool same = false;

	if (!graft->target.bytes)
		return false;
	content = symlinks_content(replay->model->links, replay->model, plan->place.klass,
				   graft->target.bytes, request->uid, request->gid, NULL, &err);
	if (content && content->seen && layer_reference_parse(content->seen, &seen, &err) == 0) {
		same = strcmp(seen.fingerprint,
			      replay->recipe.donors[graft->donor - 1].fingerprint) == 0 &&
		       seen.tensor_length == graft->from.length &&
		       memcmp(seen.tensor, graft->from.bytes, seen.tensor_length) == 0;
		layer_reference_release(&seen);
	}
	content_unref(content);
	return same;
}

/* A link whose path leads elsewhere now becomes a reference to the tensor, or a link to where the
 * organ file was found. */
static int plan_link(struct recipe_replay *replay, const struct recipe_graft *graft,
		     struct recipe_plan_graft *plan)
{
	const struct gguf_tensor *tensor;
	struct backing *file;

	plan->target = graft->target.bytes;
	if (graft->donor == RECIPE_NO_DONOR || !graft->from.bytes)
		return 0;
	if (graft->donor != RECIPE_BASE && leads_there(replay, graft, plan))
		return 0;
	plan->lacks = graft->donor != RECIPE_BASE && !replay->found[graft->donor].file;
	if (plan->lacks)
		return 0;
	if (graft->donor != RECIPE_BASE && !replay->found[graft->donor].gguf) {
		plan->target = backing_path(replay->found[graft->donor].file);
		return 0;
	}
	tensor = find_tensor(replay, graft, &file);
	if (!tensor)
		return lacks_tensor(replay, graft);
	plan->how = RECIPE_REFERENCE;
	return plan_tensor(replay, plan, tensor, file);
}

static int plan_reference(struct recipe_replay *replay, const struct recipe_graft *graft,
			  struct recipe_plan_graft *plan)
{
	struct backing *file;
	const struct gguf_tensor *tensor = find_tensor(replay, graft, &file);

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
	if (key->removed)
		return 0;
	if (key->type.bytes && !value_type_parse(key->type.bytes, key->type.length, &type))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "of the key %.100s, %.60s is no type", key->key.bytes,
				 key->type.bytes);
	rc = value_parse(&source, type, 8, &bytes, &err);
	free(bytes.bytes);
	return rc < 0 ? error_set(&replay->err, -rc, ERROR_NO_OFFSET, "of the key %.60s: %.150s",
				  key->key.bytes, err.text)
		      : 0;
}

/* The GGUF that the link's path leads to has the donor's fingerprint. */
static bool adapter_leads_there(const struct recipe_replay *replay,
				const struct recipe_adapter *adapter)
{
	const struct organ nothing = { .name = "" };
	struct model *model = replay->model;
	struct backing *file = NULL, *gone = backing_new_missing(adapter->target.bytes, 0);
	struct content *of =
		gone ? content_new_link(inode_new(model), &nothing, gone, 0, adapter->target.bytes)
		     : NULL;
	char print[FINGERPRINT_TEXT] = "";
	struct gguf *gguf = NULL;
	struct error err;

	if (of)
		content_set_owner(of, replay->request->uid, replay->request->gid);
	if (of && symlinks_gguf(model->links, model, of, false, &file, &gguf, &err) == 0 &&
	    fingerprint(file, gguf, print) < 0)
		print[0] = '\0';
	gguf_free(gguf);
	backing_unref(file);
	content_unref(of);
	backing_unref(gone);
	return strcmp(print, replay->recipe.donors[adapter->donor - 1].fingerprint) == 0;
}

static int plan_adapter(struct recipe_replay *replay, size_t i)
{
	const struct recipe_adapter *adapter = &replay->recipe.adapters[i];
	enum adapter_file kind;
	size_t length;

	if (strlen(adapter->file.bytes) != adapter->file.length ||
	    strchr(adapter->file.bytes, '/') || adapter->file.bytes[0] == '.' ||
	    !adapters_parse(adapter->file.bytes, &kind, &length) ||
	    (kind == ADAPTER_GGUF) != (adapter->value.bytes == NULL))
		return error_set(&replay->err, EINVAL, ERROR_NO_OFFSET,
				 "adapters/%.100s is no link to an adapter, and no setting of one",
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

/* How many need the donor and cannot do without, and the first of these. */
static uint32_t count_needs(const struct recipe_replay *replay, uint32_t donor, const char **first)
{
	const struct recipe *recipe = &replay->recipe;
	uint32_t n = 0;

	for (size_t i = 0; i < recipe->n_grafts; i++) {
		const struct recipe_graft *graft = &recipe->grafts[i];

		if (graft->donor == donor && replay->grafts[i].lacks && n++ == 0)
			*first = graft->slot.bytes;
	}
	for (size_t i = 0; i < recipe->n_adapters; i++) {
		const struct recipe_adapter *adapter = &recipe->adapters[i];

		if (adapter->donor == donor && replay->lacking[i] && n++ == 0)
			*first = adapter->file.bytes;
	}
	return n;
}

/* All of them are said, each in a line. */
static void report_missing(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;

	for (uint32_t d = 1; d <= recipe->n_donors; d++) {
		const struct recipe_source *donor = &recipe->donors[d - 1];
		const char *first = "";
		const uint32_t n = replay->found[d].file ? 0 : count_needs(replay, d, &first);

		if (n == 0)
			continue;
		replay->missing++;
		recipe_say(replay,
			   ".recipe: missing: %.100s, %" PRIu64 " bytes, fingerprint %s, for %.100s"
			   " and %" PRIu32 " other%s",
			   donor->name.bytes, donor->size, donor->fingerprint, first, n - 1,
			   n == 2 ? "" : "s");
	}
}

static int find_donors(struct recipe_replay *replay)
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
	int rc = find_donors(replay);

	for (size_t i = 0; rc == 0 && i < recipe->n_grafts; i++)
		rc = plan_graft(replay, i);
	for (size_t i = 0; rc == 0 && i < recipe->n_keys; i++)
		rc = plan_key(replay, &recipe->keys[i]);
	for (size_t i = 0; rc == 0 && i < recipe->n_adapters; i++)
		rc = plan_adapter(replay, i);
	return rc;
}

/* The view's name, as long-lived as the program. NULL: there is no such view. */
static const struct organ_view_words *find_view(const char *name, enum organ_view *form)
{
	for (*form = 0; *form < ORGAN_VIEWS; ++*form)
		if (strcmp(organ_view_words[*form].name, name) == 0)
			return &organ_view_words[*form];
	return NULL;
}

/* The organ file that the graft was copied from, made again from its donor. NULL with *rc 0: it
 * cannot be. */
static struct view *make_again(const struct recipe_replay *replay, const struct recipe_graft *graft,
			       int *rc)
{
	struct organ_location located = { .file = NULL };
	const struct gguf_tensor *tensor = find_tensor(replay, graft, &located.file);
	enum organ_view form = ORGAN_VIEWS;
	struct view *view;

	*rc = 0;
	if (!tensor ||
	    (graft->view.bytes && (!find_view(graft->view.bytes, &form) ||
				   (form != ORGAN_VIEW_SPECTRAL && form != ORGAN_VIEW_FRACTAL))))
		return NULL;
	located.organ = organ_of_tensor(tensor);
	located.offset = tensor->offset;
	view = form == ORGAN_VIEWS ? organ_location_view(&located) : organ_view_new(form, &located);
	*rc = view ? 0 : -ENOMEM;
	return view;
}

/* Where the copy came from, as the recipe says it: that is kept also where the bytes were found
 * elsewhere. */
static struct donor *donor_of(const struct recipe_replay *replay, const struct recipe_graft *graft,
			      struct backing *organ_file)
{
	struct recipe_source *source =
		graft->donor == RECIPE_NO_DONOR || graft->donor == RECIPE_BASE
			? NULL
			: &replay->recipe.donors[graft->donor - 1];
	struct backing *found = source ? replay->found[graft->donor].file : NULL;
	struct donor *donor, *viewed;
	const struct organ_view_words *words;
	enum organ_view form;

	if (graft->donor == RECIPE_BASE && graft->from.bytes)
		donor = donor_from_backing(replay->model->base, graft->from.bytes,
					   graft->from.length);
	else if (source && graft->from.bytes)
		donor = donor_from_record(found		       ? backing_path(found)
					  : source->path.bytes ? source->path.bytes
							       : source->name.bytes,
					  source->fingerprint, graft->from.bytes,
					  graft->from.length);
	else
		return organ_file ? donor_from_backing(organ_file, NULL, 0) : NULL;
	words = graft->view.bytes ? find_view(graft->view.bytes, &form) : NULL;
	if (!donor || !words)
		return donor;
	viewed = donor_from_view(donor, words->name);
	donor_unref(donor);
	return viewed;
}

/* The view's bytes into a stage. */
static int write_stage(const struct recipe_replay *replay, struct stage *stage, struct view *view)
{
	const uint64_t size = view_size(view);
	char *bytes = malloc(CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < size;) {
		const size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		const ssize_t got =
			view_read_cancellable(view, bytes, n, at, replay->request->places.stop);

		rc = got < 0 ? (int)got : (size_t)got != n ? -EIO : 0;
		if (rc == 0)
			rc = stage_write(stage, bytes, n, at);
		at += n;
	}
	free(bytes);
	return rc;
}

/* The organ in the view fits the slot. */
static int check_view(struct recipe_replay *replay, const struct recipe_plan_graft *plan,
		      struct view *view)
{
	const struct source source = view_source(view);
	struct organ organ = { .name = NULL };
	int rc = organ_parse(&source, &organ, &replay->err);

	if (rc == 0)
		rc = graft_check(replay->model, &plan->place, &organ, &replay->err);
	free((char *)organ.name);
	return rc == -EBADMSG ? -EINVAL : rc;
}

static int stage_view(struct recipe_replay *replay, struct recipe_plan_graft *plan,
		      struct view *view)
{
	struct view *empty = view_new(NULL, 0, NULL);
	int rc = check_view(replay, plan, view);

	if (rc == 0)
		plan->stage = empty ? stage_new(replay->model->layer, empty) : NULL;
	if (rc == 0)
		rc = plan->stage ? write_stage(replay, plan->stage, view) : -ENOMEM;
	view_unref(empty);
	return rc;
}

/* Does the view have the graft's bytes? What cannot be read has not. */
static bool is_organ(const struct recipe_replay *replay, const struct recipe_graft *graft,
		     struct view *view, int *rc)
{
	char hash[FINGERPRINT_TEXT];

	*rc = 0;
	if (graft->size && view_size(view) != graft->size)
		return false;
	*rc = recipe_hash_view(view, replay->request->places.stop, hash);
	if (*rc == -EIO) {
		*rc = 0;
		return false;
	}
	return *rc == 0 && strcmp(hash, graft->organ) == 0;
}

/* An organ file of that content. */
static struct view *find_file(const struct recipe_replay *replay, const struct recipe_graft *graft,
			      struct backing **file, int *rc)
{
	struct segment segment = { .kind = SEGMENT_EXTENT };
	struct view *view;

	*rc = credentials_assume(replay->request->uid, replay->request->gid);
	if (*rc < 0)
		return NULL;
	*rc = recipe_find_organ(replay->search, graft->size, graft->organ, file);
	credentials_restore();
	if (*rc < 0 || !*file)
		return NULL;
	segment.backing = *file;
	segment.length = backing_size(*file);
	view = view_new(&segment, 1, NULL);
	*rc = view ? 0 : -ENOMEM;
	return view;
}

static bool has_lost_donor(const struct recipe_replay *replay, const struct recipe_graft *graft)
{
	return graft->donor != RECIPE_NO_DONOR && graft->donor != RECIPE_BASE &&
	       !replay->found[graft->donor].file;
}

static int stage_copy(struct recipe_replay *replay, const struct recipe_graft *graft,
		      struct recipe_plan_graft *plan)
{
	struct backing *found = NULL, *file;
	int rc;
	struct view *view = make_again(replay, graft, &rc);

	if (view && !is_organ(replay, graft, view, &rc)) {
		view_unref(view);
		view = NULL;
	}
	if (!view && rc == 0)
		view = find_file(replay, graft, &found, &rc);
	if (view) {
		rc = stage_view(replay, plan, view);
		plan->donor = donor_of(replay, graft, found);
	} else if (rc == 0 && has_lost_donor(replay, graft)) {
		plan->lacks = true;
	} else if (rc == 0) {
		replay->missing++;
		recipe_say(replay,
			   ".recipe: missing: for %.100s, an organ file of %" PRIu64
			   " bytes with XXH128 %s%s",
			   graft->slot.bytes, graft->size, graft->organ,
			   find_tensor(replay, graft, &file)
				   ? ", which its donor does not give again"
				   : "");
	}
	view_unref(view);
	backing_unref(found);
	return rc;
}

int recipe_stage(struct recipe_replay *replay)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < replay->recipe.n_grafts; i++)
		if (replay->recipe.grafts[i].how == RECIPE_COPY)
			rc = stage_copy(replay, &replay->recipe.grafts[i], &replay->grafts[i]);
	if (rc == 0)
		report_missing(replay);
	return rc;
}
