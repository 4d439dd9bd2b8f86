/* SPDX-License-Identifier: MIT */
/* recipe_stage.c - see recipe_replay_internal.h: puts the bytes of copies into the layer before any
 * change, computed again from their donors or read from organ files. */
#include "fs/base/donor.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/recipe/recipe_donors.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/recipe/recipe_replay_internal.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/storage/view_hash.h"
#include "fs/tensor/organ_views.h"
#include "fs/util/credentials.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)

/* Count the grafts and adapters that cannot do without the donor; sets *first to the first of
 * them. */
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

static void report_missing(struct recipe_replay *replay)
{
	const struct recipe *recipe = &replay->recipe;

	for (uint32_t d = 1; d <= recipe->n_donors; d++) {
		const struct recipe_source *donor = &recipe->donors[d - 1];
		const char *first = "";
		char more[32] = "";
		const uint32_t n = replay->found[d].file ? 0 : count_needs(replay, d, &first);

		if (n == 0)
			continue;
		if (n > 1)
			snprintf(more, sizeof(more), " and %" PRIu32 " more", n - 1);
		replay->missing++;
		recipe_say(replay,
			   ".recipe: missing: %.100s, %" PRIu64
			   " bytes, fingerprint %s, for %.100s%s",
			   donor->name.bytes, donor->size, donor->fingerprint, first, more);
	}
}

/* Compute the copied organ file again from its donor. NULL with *rc 0: impossible. */
static struct view *make_again(const struct recipe_replay *replay, const struct recipe_graft *graft,
			       int *rc)
{
	struct organ_location located = { .file = NULL };
	const struct gguf_tensor *tensor = recipe_find_tensor(replay, graft, &located.file);
	enum organ_view form = ORGAN_VIEWS;
	struct view *view;

	*rc = 0;
	if (!tensor || (graft->view.bytes &&
			(!organ_view_find(graft->view.bytes, &form) || !organ_view_is_organ(form))))
		return NULL;
	located.organ = organ_of_tensor(tensor);
	located.offset = tensor->offset;
	if (form != ORGAN_VIEWS && !organ_view_exists(form, &located.organ, NULL))
		return NULL;
	view = form == ORGAN_VIEWS ? organ_location_view(&located)
				   : organ_view_new(form, &located, NULL);
	*rc = view ? 0 : -ENOMEM;
	return view;
}

/* Donor of the copy by the recipe, also if the bytes were found elsewhere. */
static struct donor *donor_of(const struct recipe_replay *replay, const struct recipe_graft *graft,
			      struct backing *organ_file)
{
	struct recipe_source *source =
		graft->donor == RECIPE_NO_DONOR || graft->donor == RECIPE_BASE
			? NULL
			: &replay->recipe.donors[graft->donor - 1];
	struct backing *found = source ? replay->found[graft->donor].file : NULL;
	struct donor *donor, *viewed;
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
	if (!donor || !graft->view.bytes || !organ_view_find(graft->view.bytes, &form) ||
	    form == ORGAN_VIEW_NPY)
		return donor;
	viewed = donor_from_view(donor, organ_view_name(form));
	donor_unref(donor);
	return viewed;
}

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

static int check_view(struct recipe_replay *replay, const struct recipe_plan_graft *plan,
		      struct view *view)
{
	const struct source source = view_source(view);
	struct organ organ = { .name = NULL };
	int rc = organ_parse(&source, &organ, &replay->err);

	if (rc == 0)
		rc = recipe_check_organ(replay, plan, &organ);
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

int recipe_is_organ(const struct recipe_replay *replay, const struct recipe_graft *graft,
		    struct view *view)
{
	char hash[FINGERPRINT_TEXT];
	int rc;

	if (graft->size && view_size(view) != graft->size)
		return 0;
	rc = view_hash(view, replay->request->places.stop, hash);
	if (rc == -EIO)
		return 0;
	return rc < 0 ? rc : strcmp(hash, graft->organ) == 0;
}

/* Find an organ file with the graft's size and hash. */
static struct view *find_file(const struct recipe_replay *replay, const struct recipe_graft *graft,
			      struct backing **file, int *rc)
{
	struct segment segment = { .kind = SEGMENT_EXTENT };
	struct credentials before;
	struct view *view;

	*rc = credentials_assume(replay->request->uid, replay->request->gid, &before);
	if (*rc < 0)
		return NULL;
	*rc = recipe_find_organ(replay->search, graft->size, graft->organ, file);
	credentials_restore(&before);
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

	if (view && (rc = recipe_is_organ(replay, graft, view)) != 1) {
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
			   recipe_find_tensor(replay, graft, &file)
				   ? ", which cannot be computed from its donor"
				   : "");
	}
	view_unref(view);
	backing_unref(found);
	return rc;
}

/* Check that the tensor of a reference has the recipe's hash. */
static int check_reference(struct recipe_replay *replay, const struct recipe_graft *graft,
			   const struct recipe_plan_graft *plan)
{
	const struct organ_location located = { plan->organ, plan->file, plan->offset, NULL };
	struct view *view = organ_location_view(&located);
	const int rc = view ? recipe_is_organ(replay, graft, view) : -ENOMEM;

	view_unref(view);
	if (rc == 0) {
		replay->missing++;
		recipe_say(replay, ".recipe: missing: for %.100s, a tensor %.100s with XXH128 %s",
			   graft->slot.bytes, graft->from.bytes, graft->organ);
	}
	return rc < 0 ? rc : 0;
}

int recipe_stage(struct recipe_replay *replay)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < replay->recipe.n_grafts; i++) {
		const struct recipe_graft *graft = &replay->recipe.grafts[i];
		struct recipe_plan_graft *plan = &replay->grafts[i];

		if (plan->how == RECIPE_COPY)
			rc = stage_copy(replay, graft, plan);
		else if (plan->how == RECIPE_REFERENCE && plan->file && graft->organ[0])
			rc = check_reference(replay, graft, plan);
	}
	if (rc == 0)
		report_missing(replay);
	return rc;
}
