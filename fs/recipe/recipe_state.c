/* SPDX-License-Identifier: MIT */
/* recipe_state.c - see recipe_state.h. */
#include "fs/recipe/recipe_state.h"
#include "fs/base/base.h"
#include "fs/base/donor.h"
#include "fs/base/reference.h"
#include "fs/edit/journal.h"
#include "fs/layer/layer.h"
#include "fs/merge/merge_note.h"
#include "fs/metadata/metadata.h"
#include "fs/metadata/value.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_origin.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/storage/view_hash.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	struct model *model;
	const struct snapshot *snapshot;
	struct recipe_ancestry *ancestry;
	struct recipe *recipe;
	const atomic_bool *stop;
};

static int add_donor(const struct maker *maker, const struct recipe_origin *of, uint32_t *number)
{
	return recipe_origin_donor(of, maker->model->base, maker->recipe, maker->ancestry, number);
}

static int set(struct recipe_text *text, const char *words)
{
	return recipe_text_set(text, words, strlen(words));
}

/* Add the donor's tensor that a graft came from, as far as it is known. */
static int add_origin(struct maker *maker, struct recipe_graft *graft, const struct donor *donor)
{
	struct backing *held = donor_backing(donor);
	const struct recipe_origin of = { donor_path(donor),
					  held == maker->model->base
						  ? maker->recipe->base.fingerprint
						  : donor_fingerprint(donor),
					  held, donor };
	const char *view = donor_view(donor);
	size_t n;
	const char *tensor = donor_tensor(donor, &n);
	int rc = 0;

	if (!tensor)
		return set(&graft->target, of.path);
	if (!of.fingerprint[0])
		return 0;
	rc = add_donor(maker, &of, &graft->donor);
	if (rc == 0)
		rc = recipe_text_set(&graft->from, tensor, n);
	if (rc == 0 && view)
		rc = set(&graft->view, view);
	return rc;
}

/* The layer's checksum describes the slot's current content; it is stale if the slot was replaced
 * since own was taken. */
static int hash_copy(const struct maker *maker, uint32_t i, struct content *own, char text[33])
{
	struct model *model = maker->model;
	const struct organ_place *place = &model->places[i];
	const bool recorded = layer_organ_hash(model->layer, place->klass, place->name, text);
	struct content *now = slots_get_own(model->slots, i);
	const bool same = now == own;
	struct view *view;
	int rc = -ENOMEM;

	content_unref(now);
	if (recorded && same)
		return 0;
	view = organ_file_view(model, i, own);
	if (view)
		rc = view_hash(view, maker->stop, text);
	view_unref(view);
	return rc;
}

static int add_copy(struct maker *maker, struct recipe_graft *graft, uint32_t i,
		    struct content *own)
{
	int rc = hash_copy(maker, i, own, graft->organ);

	graft->how = RECIPE_COPY;
	graft->size = organ_file_size(maker->model, i, own);
	if (rc == 0 && own->donor)
		rc = add_origin(maker, graft, own->donor);
	return rc;
}

static int add_reference(struct maker *maker, struct recipe_graft *graft, const struct content *own)
{
	const struct recipe_origin of = { backing_path(own->file), own->fingerprint,
					  own->broken ? NULL : own->file,
					  own->broken ? NULL : own->donor };
	int rc = add_donor(maker, &of, &graft->donor);

	graft->how = RECIPE_REFERENCE;
	return rc == 0 ? recipe_text_set(&graft->from, own->organ.name, own->organ.name_length)
		       : rc;
}

/* Add a link with the organ last seen at its target. A link to a slot of this mount has no such
 * organ. */
static int add_link(struct maker *maker, struct recipe_graft *graft, const struct content *own)
{
	struct reference seen;
	struct error err;
	int rc = set(&graft->target, own->target);

	graft->how = RECIPE_LINK;
	if (rc < 0 || !own->seen)
		return rc;
	if (reference_parse(own->seen, &seen, &err) == 0) {
		const struct recipe_origin of = { seen.model, seen.fingerprint,
						  own->broken ? NULL : own->file,
						  own->broken ? NULL : own->donor };

		rc = add_donor(maker, &of, &graft->donor);
		if (rc == 0)
			rc = recipe_text_set(&graft->from, seen.tensor, seen.tensor_length);
	}
	reference_release(&seen);
	return rc;
}

static int add_slot(struct maker *maker, uint32_t i, struct content *own)
{
	const struct model *model = maker->model;
	const struct organ_place *place = &model->places[i];
	struct recipe_graft *graft = recipe_add_graft(maker->recipe);
	char path[ORGAN_PATH_MAX];
	int rc = 0;

	if (!graft)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/%s", class_name(place->klass), place->name);
	graft->how = RECIPE_REMOVED;
	rc = set(&graft->slot, path);
	if (rc == 0 && i >= model->gguf->n_tensors)
		rc = recipe_text_set(&graft->tensor, place->tensor, place->tensor_length);
	if (rc < 0)
		return rc;
	switch (own->kind) {
	case CONTENT_COPY:
		return add_copy(maker, graft, i, own);
	case CONTENT_REFERENCE:
		return add_reference(maker, graft, own);
	case CONTENT_LINK:
		return add_link(maker, graft, own);
	default:
		return 0;
	}
}

/* The slot's own content if it is a change: neither the base's, nor a merge's result, nor the
 * removal of a slot that only grafts had added. NULL: no change. */
static struct content *changed(const struct model *model, const struct snapshot *snapshot,
			       uint32_t i)
{
	struct content *own = content_own(snapshot->content[i]);

	if (!own || own->beneath)
		return NULL;
	return i < model->gguf->n_tensors || !content_is_whiteout(own) ||
			       slots_has_beneath(model->slots, i)
		       ? own
		       : NULL;
}

/* Added slots and keys are sorted by name, because their numbers differ at the next mount. */
struct added {
	const char *name;
	enum organ_class klass;
	uint32_t i;
};

static int compare_added(const void *a, const void *b)
{
	const struct added *one = a, *other = b;

	if (one->klass != other->klass)
		return one->klass < other->klass ? -1 : 1;
	return strcmp(one->name, other->name);
}

static int add_slot_or_say(struct maker *maker, uint32_t i, struct error *err)
{
	struct content *own = changed(maker->model, maker->snapshot, i);
	const int rc = own ? add_slot(maker, i, own) : 0;
	char path[ORGAN_PATH_MAX];

	return rc < 0 ? error_set(err, -rc, ERROR_NO_OFFSET, "%s: %s",
				  model_organ_path(maker->model, i, path), strerror(-rc))
		      : 0;
}

static int add_slots(struct maker *maker, struct error *err)
{
	const struct model *model = maker->model;
	const uint32_t n = maker->snapshot->n, of_base = model->gguf->n_tensors;
	struct added *added = calloc(n - of_base + 1u, sizeof(*added));
	int rc = added ? 0 : error_errno(err, ENOMEM);

	for (uint32_t i = 0; rc == 0 && i < of_base; i++)
		rc = add_slot_or_say(maker, i, err);
	for (uint32_t i = of_base; added && i < n; i++)
		added[i - of_base] =
			(struct added){ model->places[i].name, model->places[i].klass, i };
	if (added)
		qsort(added, n - of_base, sizeof(*added), compare_added);
	for (uint32_t k = 0; rc == 0 && k < n - of_base; k++)
		rc = add_slot_or_say(maker, added[k].i, err);
	free(added);
	return rc;
}

/* Text of the value as in its file, without the last newline. */
static int add_value(struct recipe_text *value, struct metadata_entry *entry)
{
	int rc = -EIO;
	struct view *view = metadata_entry_view(entry, &rc);
	const uint64_t size = view ? view_size(view) : 0;
	char *text = NULL;
	ssize_t got;

	if (view && size <= RECIPE_MAX && !(text = malloc((size_t)size + 1)))
		rc = -ENOMEM;
	else if (view && size > RECIPE_MAX)
		rc = -EFBIG;
	if (text) {
		got = view_read(view, text, (size_t)size, 0);
		rc = got < 0 ? (int)got : 0;
		if (got > 0 && text[got - 1] == '\n')
			got--;
		if (rc == 0)
			rc = recipe_text_set(value, text, (size_t)got);
	}
	free(text);
	view_unref(view);
	return rc;
}

static int add_key(struct recipe *recipe, const struct metadata_edit *edit)
{
	struct recipe_key *key = recipe_add_key(recipe);
	char type[VALUE_TYPE_TEXT];
	int rc = key ? recipe_text_set(&key->key, edit->key.key, edit->key.length) : -ENOMEM;

	if (rc < 0)
		return rc;
	key->removed = !edit->metadatum;
	if (key->removed)
		return 0;
	rc = set(&key->type, value_type_text(metadata_entry_value(edit->metadatum)->type, type));
	return rc == 0 ? add_value(&key->value, edit->metadatum) : rc;
}

/* Add the edited keys, those of the base first. */
static int add_keys(struct maker *maker, struct error *err)
{
	const struct metadata_edits *edits = maker->snapshot->edits;
	const uint32_t n = edits ? edits->n : 0, of_base = maker->model->gguf->n_kv;
	struct added *added = calloc(n + 1u, sizeof(*added));
	uint32_t first = 0;
	int rc = added ? 0 : error_errno(err, ENOMEM);

	while (first < n && edits->edits[first].i < of_base)
		first++;
	for (uint32_t k = 0; added && k < n; k++)
		added[k] = (struct added){ edits->edits[k].key.name, 0, k };
	if (added)
		qsort(added + first, n - first, sizeof(*added), compare_added);
	for (uint32_t k = 0; rc == 0 && k < n; k++) {
		rc = add_key(maker->recipe, &edits->edits[added[k].i]);
		if (rc < 0)
			error_set(err, -rc, ERROR_NO_OFFSET, "metadata/%s: %s", added[k].name,
				  strerror(-rc));
	}
	free(added);
	return rc;
}

static int add_adapter_source(struct maker *maker, struct recipe_adapter *adapter,
			      const struct content *link)
{
	const struct source source = backing_source(link->file);
	struct gguf *gguf = link->broken ? NULL : gguf_read(&source, NULL);
	char print[FINGERPRINT_TEXT];
	const struct recipe_origin of = { backing_path(link->file), print, link->file, NULL };
	int rc = 0;

	if (gguf && fingerprint(link->file, gguf, print) == 0)
		rc = add_donor(maker, &of, &adapter->donor);
	gguf_free(gguf);
	return rc;
}

static int add_adapter(struct maker *maker, const char *file, const struct adapter_attr *shown)
{
	struct recipe_adapter *adapter = recipe_add_adapter(maker->recipe);
	int rc = adapter ? set(&adapter->file, file) : -ENOMEM;
	const size_t n = strcspn(shown->text, "\n");

	if (rc < 0)
		return rc;
	if (shown->kind != ADAPTER_GGUF)
		return recipe_text_set(&adapter->value, shown->text, n);
	rc = set(&adapter->target, shown->link->target);
	return rc == 0 ? add_adapter_source(maker, adapter, shown->link) : rc;
}

/* Add links, or settings. Links come first, because settings belong to an existing adapter. */
static int add_adapters(struct maker *maker, bool links)
{
	const struct adapter_list *list = maker->snapshot->adapters;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && list && i < list->n_set; i++) {
		const struct adapter_set *set = &list->set[i];

		if ((set->shown.kind == ADAPTER_GGUF) == links)
			rc = add_adapter(maker, set->file, &set->shown);
	}
	return rc;
}

static int add_types(struct maker *maker)
{
	const struct model *model = maker->model;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < maker->snapshot->n; i++) {
		const struct slot_type *chosen = &maker->snapshot->types[i];
		const struct organ_place *place = &model->places[i];
		char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX];
		struct recipe_type *type;

		/* A type that a removed slot keeps shows nowhere. */
		if (!chosen->is_set || content_is_whiteout(maker->snapshot->content[i]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", class_name(place->klass), place->name);
		type = recipe_add_type(maker->recipe);
		rc = type ? set(&type->slot, path) : -ENOMEM;
		if (rc == 0)
			rc = set(&type->type, type_name(chosen->type, scratch));
	}
	return rc;
}

static int add_base(struct maker *maker)
{
	struct model *model = maker->model;
	struct recipe *recipe = maker->recipe;
	struct recipe_source *base = &recipe->base;
	int rc;

	/* model_fingerprint() needs the commit lock. */
	journal_begin(model);
	memcpy(base->fingerprint, model_fingerprint(model), FINGERPRINT_TEXT);
	journal_end(model);
	if (!base->fingerprint[0])
		return -EIO;
	base->size = backing_size(model->base);
	if (recipe_origin_name(&base->name,
			       model->known ? model->known : backing_path(model->base)) < 0 ||
	    (!model->follow && set(&recipe->options.blocks, "keep") < 0) ||
	    (model->keep_types && set(&recipe->options.type, "keep") < 0))
		return -ENOMEM;
	rc = recipe_ancestry_contents(maker->ancestry, model->base, model->gguf, base->contents);
	return rc == 0 ? recipe_ancestry_fill(maker->ancestry, base, model->base, model->gguf, NULL)
		       : rc;
}

/* The merge in force, if it changes anything. NULL: none does. Borrowed. */
static const struct merge_state *merge_shown(const struct model *model,
					     const struct snapshot *snapshot)
{
	return snapshot_merge_grafts(snapshot, model->gguf->n_tensors) ? snapshot->merge : NULL;
}

static int add_model(struct maker *maker, const struct merge_state *state, size_t i)
{
	struct recipe_merge_model *added = recipe_add_model(maker->recipe);
	const struct merge_note_model *model = &state->models[i];
	struct backing *file = state->bases[i].file;
	const char *path = url_is_store(model->written) ? model->written : model->path;
	const struct recipe_origin of = { path, model->fingerprint, file, NULL };
	uint32_t donor = RECIPE_BASE;
	int rc = added ? set(&added->written, model->written) : -ENOMEM;

	if (rc == 0 && file)
		rc = add_donor(maker, &of, &donor);
	if (rc == 0)
		added->donor = donor;
	return rc;
}

/* Reason why a merge cannot be in a recipe, or NULL. Every reader of the mount may read a recipe,
 * but a URL in .merge may contain a password, so .merge is private then. */
static const char *why_untold(const struct merge_state *state)
{
	if (state->broken)
		return "models of the merge cannot be opened";
	if (memmem(state->text, state->size, "://", 3))
		return "the configuration of the merge has a URL, which no recipe may contain; "
		       "see .merge";
	for (size_t i = 0; i < state->n_models; i++)
		if (url_is_remote(state->models[i].path))
			return "a model of the merge is on a server, whose address no recipe "
			       "may contain; see .merge";
	return NULL;
}

static int add_merge(struct maker *maker, struct error *err)
{
	const struct merge_state *state = merge_shown(maker->model, maker->snapshot);
	const char *why;
	int rc;

	if (!state)
		return 0;
	why = why_untold(state);
	rc = why ? error_set(err, EINVAL, ERROR_NO_OFFSET, "%s", why)
		 : recipe_text_set(&maker->recipe->merge.config, state->text, state->size);
	for (size_t i = 0; rc == 0 && i < state->n_models; i++)
		rc = add_model(maker, state, i);
	return rc < 0 && !err->code
		       ? error_set(err, -rc, ERROR_NO_OFFSET, "the merge: %s", strerror(-rc))
		       : rc;
}

int recipe_of_model(struct model *model, const struct snapshot *snapshot,
		    struct recipe_ancestry *ancestry, const atomic_bool *stop,
		    struct recipe *recipe, struct error *err)
{
	struct maker maker = { model, snapshot, ancestry, recipe, stop };
	int rc;

	*recipe = (struct recipe){ 0 };
	rc = add_base(&maker);
	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "the base: %s", strerror(-rc));
	rc = add_merge(&maker, err);
	if (rc == 0)
		rc = add_slots(&maker, err);
	if (rc == 0)
		rc = add_keys(&maker, err);
	if (rc < 0)
		return rc;
	rc = add_adapters(&maker, true);
	if (rc == 0)
		rc = add_adapters(&maker, false);
	if (rc == 0 && recipe_makes_values(recipe))
		rc = set(&recipe->options.merged, encode_choice_name(model->merged));
	if (rc == 0)
		rc = add_types(&maker);
	return rc < 0 ? error_set(err, -rc, ERROR_NO_OFFSET, "adapters and types: %s",
				  strerror(-rc))
		      : 0;
}

/* Omit the recipes in bases and donors. False: there were none. */
static bool cut_ancestry(struct recipe *recipe)
{
	bool any = false;

	for (size_t i = 0; i <= recipe->n_donors; i++) {
		struct recipe_source *source = i ? &recipe->donors[i - 1] : &recipe->base;

		if (!source->recipe.bytes)
			continue;
		free(source->recipe.bytes);
		source->recipe = (struct recipe_text){ 0 };
		source->cut = true;
		any = true;
	}
	return any;
}

/* Check that the configuration, which is copied as written, names no absolute path. */
static int check_portable(const struct recipe *recipe, struct error *err)
{
	for (size_t i = 0; i < recipe->n_models; i++)
		if (recipe->models[i].written.bytes[0] == '/')
			return error_set(err, EINVAL, ERROR_NO_OFFSET,
					 "the configuration in .merge names a model by its whole "
					 "path; use a relative name");
	return 0;
}

char *recipe_text_of_model(struct model *model, const struct snapshot *snapshot,
			   struct recipe_ancestry *ancestry, bool portable, size_t *size,
			   struct error *err)
{
	struct recipe recipe;
	int rc = recipe_of_model(model, snapshot, ancestry, NULL, &recipe, err);
	char *text;

	if (rc == 0 && portable)
		rc = check_portable(&recipe, err);
	text = rc == 0 ? recipe_write(&recipe, portable, size, err) : NULL;

	if (rc == 0 && !text && err->code == EFBIG && cut_ancestry(&recipe)) {
		*err = (struct error){ 0 };
		text = recipe_write(&recipe, portable, size, err);
	}
	recipe_release(&recipe);
	return text;
}

bool recipe_is_needed(const struct model *model, const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n; i++)
		if (changed(model, snapshot, i) || snapshot->types[i].is_set)
			return true;
	return merge_shown(model, snapshot) || (snapshot->edits && snapshot->edits->n) ||
	       (snapshot->adapters && snapshot->adapters->n);
}
