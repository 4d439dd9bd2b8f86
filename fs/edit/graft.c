/* SPDX-License-Identifier: MIT */
/* graft.c - see graft.h: slots filled with written bytes, or emptied. graft_link.c fills slots from
 * other slots, graft_recover.c from an earlier mount's layer, graft_donor.c finds donors. */
#include "fs/edit/graft.h"
#include "fs/base/donor.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/removal.h"
#include "fs/paths/write_source.h"
#include "fs/storage/backing.h"
#include "fs/util/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPARE_CHUNK ((size_t)1 << 20)

/* Does the organ equal the base's organ of the slot? Most differences are found in the first
 * chunk. */
static bool is_bases(const struct filling *filling, const struct source *source)
{
	const struct model *model = filling->model;
	const struct gguf_tensor *t = &model->gguf->tensors[filling->tensor];
	const struct organ *organ = &filling->organ;
	char *bytes;
	bool same = true;

	if (filling->is_new || filling->tensor >= model->gguf->n_tensors ||
	    organ->type != t->type || organ->dims != t->dims || organ->data_size != t->size ||
	    memcmp(organ->ne, t->ne, sizeof(t->ne)) != 0 || organ->name_length != t->name_length ||
	    memcmp(organ->name, t->name, t->name_length) != 0)
		return false;
	bytes = malloc(2 * COMPARE_CHUNK);
	for (uint64_t at = 0; bytes && same && at < t->size;) {
		const uint64_t left = t->size - at;
		const size_t n = left < COMPARE_CHUNK ? (size_t)left : COMPARE_CHUNK;

		same = backing_read(model->base, bytes, n, t->offset + at) == 0 &&
		       source->read_at(source->context, bytes + COMPARE_CHUNK, n,
				       organ->header_size + at) == 0 &&
		       memcmp(bytes, bytes + COMPARE_CHUNK, n) == 0;
		at += n;
	}
	same = same && bytes;
	free(bytes);
	return same;
}

static int check_organ(struct filling *filling, const struct source *source)
{
	int rc = organ_parse(source, &filling->organ, &filling->err);

	if (rc == 0)
		rc = filling_check(filling);
	if (rc == 0)
		filling->is_base = filling->may_be_base && is_bases(filling, source);
	/* The process that closed a file that is no organ gets EINVAL. */
	return rc == -EBADMSG ? -EINVAL : rc;
}

char *graft_copy_name(const struct organ *organ)
{
	char *name = malloc(organ->name_length + 1u);

	if (!name)
		return NULL;
	memcpy(name, organ->name, organ->name_length);
	name[organ->name_length] = '\0';
	return name;
}

bool filling_has_other_time(const struct filling *filling, const struct timespec *mtime)
{
	return filling->mtime && (filling->mtime->tv_sec != mtime->tv_sec ||
				  filling->mtime->tv_nsec != mtime->tv_nsec);
}

void filling_find(struct filling *filling)
{
	filling->is_new = !model_find_slot(filling->model, filling->klass, filling->name,
					   strlen(filling->name), &filling->tensor);
}

/* Find the tensor's name for a slot added for the organ under that file name. */
static int find_added(struct filling *filling)
{
	const struct organ *organ = &filling->organ;
	char own[ANATOMY_NAME_MAX + 1];

	filling->added_length =
		anatomy_added(organ->name, organ->name_length, filling->name, filling->klass,
			      filling->added, sizeof(filling->added));
	if (filling->added_length > 0)
		return 0;
	anatomy_file_name(organ->name, organ->name_length, NAME_SHORT, own);
	return error_set(&filling->err, EINVAL, ERROR_NO_OFFSET,
			 "no slot has that name; the organ %.80s belongs in %s/%.80s.bin",
			 organ->name, class_name(anatomy_class(organ->name, organ->name_length)),
			 own);
}

/* A slot that was added and removed again is checked as a new one. */
static int check_again(struct filling *filling)
{
	struct content *content = slots_get_own(filling->model->slots, filling->tensor);
	const bool gone = content_is_whiteout(content);

	content_unref(content);
	return gone && !filling->is_named && !filling->taken_up ? find_added(filling) : 0;
}

static int check_new(struct filling *filling)
{
	const int rc = find_added(filling);

	if (rc < 0)
		return rc;
	if (gguf_tensor(filling->model->gguf, filling->added, filling->added_length))
		return error_set(&filling->err, EINVAL, ERROR_NO_OFFSET,
				 "the model has the tensor %s under another file name",
				 filling->added);
	return 0;
}

bool filling_name(struct filling *filling, const char *tensor, size_t length)
{
	char name[ANATOMY_NAME_MAX + 1];

	anatomy_file_name(tensor, length, NAME_SHORT, name);
	if (strcmp(name, filling->name) != 0)
		anatomy_file_name(tensor, length, NAME_EXACT, name);
	if (!filling->is_new || length == 0 || length >= sizeof(filling->added) ||
	    strcmp(name, filling->name) != 0 || anatomy_class(tensor, length) != filling->klass ||
	    gguf_tensor(filling->model->gguf, tensor, (uint32_t)length))
		return false;
	memcpy(filling->added, tensor, length);
	filling->added[length] = '\0';
	filling->added_length = length;
	return true;
}

int filling_check(struct filling *filling)
{
	struct model *model = filling->model;
	const bool adapter =
		filling->klass == CLASS_ADAPTERS && adapters_apply(model) && !filling->taken_up;
	const struct organ_place *place;
	int rc = organ_check_whole(&filling->organ, "the organ", &filling->err);

	if (rc == 0 && !filling->is_new && filling->tensor < model->gguf->n_tensors)
		return organ_fits(&filling->organ, &model->gguf->tensors[filling->tensor],
				  filling->any_shape, &filling->err);
	/* An added slot takes any organ that has the name. */
	if (rc == 0 && !filling->is_new)
		rc = check_again(filling);
	else if (rc == 0 && !filling->added_length)
		rc = check_new(filling);
	if (rc < 0 || !adapter)
		return rc;
	if (filling->is_new)
		return adapters_check(model, filling->added, filling->added_length, &filling->organ,
				      &filling->err);
	place = &model->places[filling->tensor];
	return adapters_check(model, place->tensor, place->tensor_length, &filling->organ,
			      &filling->err);
}

bool filling_stand_in(const struct filling *filling, struct organ *organ)
{
	const struct gguf *gguf = filling->model->gguf;
	char added[ADDED_NAME_MAX];

	if (!filling->is_new && filling->tensor < gguf->n_tensors) {
		*organ = organ_of_tensor(&gguf->tensors[filling->tensor]);
		return true;
	}
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *tensor = &gguf->tensors[i];

		if (filling->model->places[i].klass != filling->klass ||
		    anatomy_added(tensor->name, tensor->name_length, filling->name, filling->klass,
				  added, sizeof(added)) == 0)
			continue;
		*organ = organ_of_tensor(tensor);
		return true;
	}
	return false;
}

static void empty_moved_from(struct filling *filling)
{
	if (filling->moved_from)
		slots_set(filling->model->slots, filling->moved_from_slot,
			  filling->moved_from_whiteout);
	filling->moved_from_whiteout = NULL;
}

int filling_put(struct filling *filling, struct content *content)
{
	if (filling->is_new)
		return model_add_slot(filling->model, filling->klass, filling->name, filling->added,
				      (uint32_t)filling->added_length, content);
	slots_set(filling->model->slots, filling->tensor, content);
	empty_moved_from(filling);
	return 0;
}

int filling_reserve(struct filling *filling)
{
	struct content *nothing;
	int rc;

	if (!filling->is_new)
		return 0;
	nothing = content_new_whiteout();
	rc = nothing ? filling_put(filling, nothing) : -ENOMEM;
	if (rc == 0)
		filling_find(filling);
	return rc;
}

void filling_publish(struct filling *filling, struct content *content, struct backing *file,
		     const struct timespec *mtime)
{
	content_fill(content, inode_new(filling->model), &filling->organ, file);
	filling->organ.name = NULL;
	content->mtime = *mtime;
	content_set_donor(content, donor_ref(filling->donor));
	slots_set(filling->model->slots, filling->tensor, content);
	empty_moved_from(filling);
}

int filling_restore(struct filling *filling)
{
	struct layer_undone undone[2] = {
		{ .item = LAYER_SLOT, .klass = filling->klass, .name = filling->name }
	};
	int rc;

	if (filling->moved_from)
		undone[1] = *filling->moved_from;
	rc = layer_undo(filling->model->layer, undone, filling->moved_from ? 2 : 1);
	if (rc < 0)
		return rc;
	slots_set(filling->model->slots, filling->tensor, NULL);
	empty_moved_from(filling);
	return 0;
}

/* Make the sealed stage durable, together with grafts of other slots, which share its fsync().
 * Called with the commit lock held, which is released while the disk works. */
static int commit_with_others(struct filling *filling, struct journal_graft *graft,
			      const struct timespec *mtime, struct backing **file)
{
	struct model *model = filling->model;
	struct layer_entry entry = filling_entry(filling);
	struct layer_commit *commit;
	int rc;

	entry.mtime = *mtime;
	commit = layer_commit_begin(model->layer, filling->seal, &entry, &rc);
	if (!commit)
		return rc;
	journal_wait(model, graft);
	rc = layer_commit_wait(commit, file);
	journal_resume(model, graft);
	return rc;
}

/* Fill the slot with the sealed stage, with the commit lock held. *view is NULL if out of
 * memory. */
static int keep_sealed(struct filling *filling, struct journal_graft *graft,
		       const struct timespec *mtime, struct view **view)
{
	struct model *model = filling->model;
	struct content *content = content_new_whiteout();
	struct backing *file;
	int rc;

	/* Another thread may have added the slot meanwhile. */
	filling_find(filling);
	rc = content ? filling_reserve(filling) : -ENOMEM;
	if (rc == 0)
		rc = commit_with_others(filling, graft, mtime, &file);
	if (rc == 0) {
		filling_publish(filling, content_ref(content), file, mtime);
		*view = organ_file_view(model, filling->tensor, content);
	}
	content_unref(content);
	return rc;
}

bool filling_has_moved_on(struct filling *filling)
{
	struct content *content;

	if (!filling->replaces_only)
		return false;
	content = slots_get_own(filling->model->slots, filling->tensor);
	filling->moved_on = content != filling->was;
	content_unref(content);
	return filling->moved_on;
}

/* Check the staged organ, seal it and put it into the slot. An organ equal to the base's is no
 * graft; it ends the slot's. */
static int fill_from_stage(struct filling *filling, struct stage *stage)
{
	struct model *model = filling->model;
	struct journal_graft graft;
	const struct timespec mtime = stage_shown(stage).mtime;
	struct view *view = NULL;
	struct source staged;
	int rc = stage_commit_begin(stage, &staged);

	if (rc == 0)
		rc = check_organ(filling, &staged);
	/* Seal without the commit lock: sealing takes long, and other threads may do it at the same
	 * time. */
	if (rc == 0 && !filling->is_base)
		rc = stage_seal(stage, &filling->seal);
	if (rc == 0) {
		journal_begin_graft(model, &graft, filling->klass, filling->name);
		rc = filling_has_moved_on(filling) ? -ESTALE : journal_check(model);
		if (rc == 0 && !filling->is_base) {
			rc = keep_sealed(filling, &graft, &mtime, &view);
		} else if (rc == 0) {
			rc = filling_restore(filling);
			if (rc == 0)
				view = organ_file_view(model, filling->tensor, NULL);
		}
		journal_end(model);
	}
	return stage_commit_end(stage, rc, view);
}

/* End of a refusal's line: the slot's state now. */
static const char *state_text(const struct filling *filling)
{
	struct content *own;
	bool removed;

	if (filling->is_new)
		return "";
	if (filling->put_back)
		return "; its removal just before is undone, and the slot has its former content "
		       "again";
	own = slots_get_own(filling->model->slots, filling->tensor);
	removed = content_is_whiteout(own);
	content_unref(own);
	if (!removed)
		return "; the slot keeps its content";
	return filling->tensor < filling->model->gguf->n_tensors
		       ? "; the slot stays removed, as it was before; .undo brings back the base's"
		       : "; the slot stays removed, as it was before";
}

int filling_refuse(const struct filling *filling, int rc)
{
	char text[LAYER_WHY];

	log_add(filling->model->log, "%s/%s.bin: graft refused: %s%s", class_name(filling->klass),
		filling->name, layer_why(filling->model->layer, &filling->err, rc, text),
		state_text(filling));
	return rc;
}

void filling_log_role(const struct filling *filling)
{
	struct model *model = filling->model;
	const struct organ_place *place = &model->places[filling->tensor];
	struct content *content = slots_get_own(model->slots, filling->tensor);
	char path[ORGAN_PATH_MAX];

	if (content_role(content, place->tensor, place->tensor_length) > ROLE_UNNAMED)
		log_add(model->log,
			"%s: its own name, %.200s, means another role; the graft is in force, and "
			".check says impossible",
			model_organ_path(model, filling->tensor, path), content->organ.name);
	content_unref(content);
}

int filling_end(const struct filling *filling, int rc)
{
	if (rc < 0)
		return filling->moved_on ? rc : filling_refuse(filling, rc);
	if (filling->klass == CLASS_ADAPTERS)
		adapter_edit_learn_alpha(filling->model, filling->name);
	filling_log_role(filling);
	return 0;
}

/* Share the content of a slot of this mount that was copied whole into the stage. -ESTALE: the
 * stage has other bytes, the source has changed, or the file must get a time of its own. */
static int fill_from_origin(struct filling *filling, struct stage *stage)
{
	struct origin from;
	int rc = -ESTALE;

	if (!stage_origin(stage, &from))
		return rc;
	rc = graft_fill_from(filling, &from);
	/* A refused graft must not be tried again at the release, which returns no error. */
	if (rc != -ESTALE)
		stage_set_outcome(stage, &from, rc == 0);
	content_unref(from.content);
	return rc;
}

int filling_at(struct filling *filling, struct model *model, const struct graft_place *place)
{
	*filling = (struct filling){ .model = model,
				     .klass = place->klass,
				     .name = place->name,
				     .any_shape = model->any_shape || place->from_recipe,
				     .from_recipe = place->from_recipe,
				     .is_named = place->tensor != NULL };
	filling_find(filling);
	if (!place->tensor || !filling->is_new ||
	    filling_name(filling, place->tensor, place->tensor_length))
		return 0;
	return error_set(&filling->err, EINVAL, ERROR_NO_OFFSET,
			 "a tensor %.100s cannot be added under that file name", place->tensor);
}

int graft_check(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct error *err)
{
	struct filling filling;
	int rc = filling_at(&filling, model, place);

	filling.organ = *organ;
	if (rc == 0)
		rc = filling_check(&filling);
	*err = filling.err;
	return rc;
}

/* Does the slot without a graft hold the result of a merge of models? */
static bool is_blend(const struct filling *filling)
{
	return !filling->is_new && slots_has_beneath(filling->model->slots, filling->tensor);
}

/* donor: the organ's, if known; NULL: the stage may tell. */
static int fill(struct filling *filling, struct donor *donor, struct stage *stage)
{
	struct model *model = filling->model;
	const struct stage_shown shown = stage_shown(stage);
	struct timespec base;
	int rc;

	if (shown.has_mtime)
		filling->mtime = &shown.mtime;
	rc = fill_from_origin(filling, stage);
	if (rc == -ESTALE) {
		filling->organ = (struct organ){ 0 };
		filling_find(filling);
		base = model_time(model);
		filling->may_be_base = !filling->from_recipe &&
				       !filling_has_other_time(filling, &base) &&
				       !is_blend(filling);
		filling_find_donor(filling, stage, donor);
		rc = fill_from_stage(filling, stage);
		donor_unref(filling->donor);
		free((char *)filling->organ.name);
	}
	return rc;
}

int graft_fill_place(struct model *model, const struct graft_place *place, struct stage *stage,
		     struct donor *donor)
{
	struct filling filling;
	int rc = filling_at(&filling, model, place);

	if (rc == 0)
		rc = fill(&filling, donor, stage);
	if (rc < 0)
		filling.put_back = graft_put_back(&filling, stage);
	else
		removal_free(stage_take_removal(stage));
	return filling_end(&filling, rc);
}

int graft_fill_name(struct model *model, enum organ_class klass, const char *name,
		    struct stage *stage)
{
	return graft_fill_place(model, &(struct graft_place){ .klass = klass, .name = name }, stage,
				NULL);
}

int graft_fill(struct model *model, uint32_t tensor, struct stage *stage)
{
	const struct organ_place *place = &model->places[tensor];

	return graft_fill_name(model, place->klass, place->name, stage);
}

int graft_fill_over(struct model *model, uint32_t tensor, const struct content *was,
		    struct stage *stage, struct donor *donor, bool *moved_on)
{
	const struct organ_place *place = &model->places[tensor];
	struct filling filling;
	int rc = filling_at(&filling, model,
			    &(struct graft_place){ .klass = place->klass, .name = place->name });

	filling.any_shape = filling.replaces_only = true;
	filling.was = was;
	if (rc == 0)
		rc = fill(&filling, donor, stage);
	*moved_on = filling.moved_on;
	return filling_end(&filling, rc);
}

/* process: the caller of unlink(2), or 0. moved_on: NULL, or the slot's content must equal was, as
 * for graft_remove_if(). */
static int empty_slot(struct model *model, uint32_t tensor, pid_t process,
		      const struct content *was, bool *moved_on)
{
	struct content *content, *nothing = content_new_whiteout();
	char path[ORGAN_PATH_MAX];
	int rc;

	journal_begin(model);
	content = slots_get_own(model->slots, tensor);
	if (moved_on)
		*moved_on = content != was && !content_is_whiteout(content);
	rc = content_is_whiteout(content) ? -ENOENT
	     : moved_on && *moved_on	  ? -ESTALE
					  : journal_check(model);
	if (rc == 0)
		rc = nothing ? journal_empty_slot(model, tensor) : -ENOMEM;
	if (rc == 0) {
		removal_keep(model,
			     process ? removal_new(tensor, process, content, nothing) : NULL);
		slots_set(model->slots, tensor, nothing);
	} else {
		content_unref(nothing);
	}
	if (rc == 0 && model->places[tensor].klass == CLASS_ADAPTERS)
		adapter_edit_forget_copied(model);
	journal_end(model);
	content_unref(content);
	if (rc < 0 && rc != -ENOENT && !(moved_on && *moved_on))
		log_add(model->log, "%s: cannot remove: %s; the slot keeps its content",
			model_organ_path(model, tensor, path), strerror(-rc));
	return rc;
}

int graft_remove(struct model *model, uint32_t tensor)
{
	return empty_slot(model, tensor, 0, NULL, NULL);
}

int graft_unlink(struct model *model, uint32_t tensor, pid_t process)
{
	return empty_slot(model, tensor, process, NULL, NULL);
}

int graft_remove_if(struct model *model, uint32_t tensor, const struct content *was, bool *moved_on)
{
	return empty_slot(model, tensor, 0, was, moved_on);
}
