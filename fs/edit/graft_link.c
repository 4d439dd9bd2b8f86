/* SPDX-License-Identifier: MIT */
/* graft_link.c - see graft.h: a slot filled from another slot, by reference or link, without a
 * copy. */
#include "fs/base/donor.h"
#include "fs/base/reference.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/edit/stage.h"
#include "fs/edit/symlinks.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fill the slot with content, a link or a reference to a tensor of a model; uses content up.
 * content NULL: out of memory. */
static int put_content(struct filling *filling, struct content *content)
{
	struct layer_entry entry = filling_entry(filling);
	const bool is_link = content && content_is_link(content);
	char *text = NULL;
	int rc = -ENOMEM;

	if (is_link) {
		entry.target = content->target;
		entry.uid = content->uid;
		entry.gid = content->gid;
	} else if (content) {
		if (filling->mtime)
			content->mtime = *filling->mtime;
		text = reference_print(backing_path(content->file), content->fingerprint,
				       &content->organ,
				       content->file == filling->model->base
					       ? REFERENCE_OF_BASE
					       : REFERENCE_OF_ANOTHER);
	}
	if (is_link || text) {
		entry.kind = is_link ? LAYER_LINK : LAYER_REFERENCE;
		entry.reference = is_link ? content->seen : text;
		entry.mtime = content->mtime;
		rc = layer_put(filling->model->layer, &entry, filling->moved_from);
	}
	free(text);
	if (rc == 0)
		return filling_put(filling, content);
	content_unref(content);
	return rc;
}

int graft_refer(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct backing *file, uint64_t offset, const char *fingerprint)
{
	struct filling filling;
	int rc = filling_at(&filling, model, place);

	filling.organ = *organ;
	if (rc == 0) {
		journal_begin(model);
		filling_find(&filling);
		rc = journal_check(model);
		if (rc == 0)
			rc = filling_check(&filling);
		if (rc == 0)
			rc = filling_reserve(&filling);
		if (rc == 0)
			rc = put_content(&filling,
					 content_new_reference(inode_new(model), organ, file,
							       offset, fingerprint));
		journal_end(model);
	}
	return filling_end(&filling, rc);
}

int graft_symlink(struct model *model, enum organ_class klass, const char *name, const char *target,
		  uid_t uid, gid_t gid)
{
	return graft_symlink_place(model, &(struct graft_place){ .klass = klass, .name = name },
				   target, uid, gid);
}

int graft_symlink_place(struct model *model, const struct graft_place *place, const char *target,
			uid_t uid, gid_t gid)
{
	const enum organ_class klass = place->klass;
	const char *name = place->name;
	struct filling filling;
	struct content *content;
	struct organ stand_in;
	bool known;
	int rc = filling_at(&filling, model, place);

	if (rc < 0)
		return filling_refuse(&filling, rc);
	known = filling_stand_in(&filling, &stand_in);
	content = symlinks_content(model->links, model, klass, target, uid, gid,
				   known ? &stand_in : NULL, &filling.err);
	if (!content)
		return filling_refuse(&filling, -filling.err.code);
	journal_begin(model);
	filling_find(&filling);
	filling.organ = content->organ;
	rc = journal_check(model);
	if (rc == 0 && (!content->broken || filling.is_new))
		rc = filling_check(&filling);
	if (rc == 0)
		rc = filling_reserve(&filling);
	if (rc == 0) {
		if (content->broken)
			log_add(model->log, "%s/%s.bin: %s%s", class_name(klass), name,
				content->broken, target[0] == '/' ? "" : "; " GRAFT_RELATIVE);
		rc = put_content(&filling, content);
	} else {
		content_unref(content);
	}
	journal_end(model);
	return filling_end(&filling, rc);
}

static struct content *link_again(uint64_t ino, const struct content *link)
{
	struct content *content =
		content_new_link(ino, &link->organ, link->file, link->offset, link->target);

	if (!content)
		return NULL;
	content_set_owner(content, link->uid, link->gid);
	content_set_seen(content, link->seen);
	if (link->broken)
		content_set_broken(content, link->broken);
	return content;
}

/* Fill the slot with the organ file of another slot, without a copy. */
static int share(struct filling *filling, const struct origin *from)
{
	struct model *model = filling->model;
	const struct organ_place *place = &from->model->places[from->slot];
	char *name = graft_copy_name(&filling->organ);
	struct content *content = content_new_whiteout();
	struct layer_entry entry;
	struct backing *file;
	int rc = -ENOMEM;

	/* A donor that is the other model's base has no fingerprint yet. */
	if (from->content->donor)
		filling_find_donor(filling, NULL, from->content->donor);
	entry = filling_entry(filling);
	if (name && content)
		rc = layer_link(from->model->layer, place->klass, place->name, model->layer, &entry,
				filling->moved_from, &file);
	if (rc == 0) {
		filling->organ.name = name;
		filling_publish(filling, content, file, &from->content->mtime);
	} else {
		content_unref(content);
		free(name);
	}
	donor_unref(filling->donor);
	filling->donor = NULL;
	return rc;
}

/* Is the organ at from the slot's own tensor of the base? */
static bool is_own(const struct filling *filling, const struct origin *from)
{
	const struct model *model = filling->model;
	const struct content *content = from->content;
	const struct backing *file = content ? content->file : from->model->base;

	if (filling->is_new || filling->tensor >= model->gguf->n_tensors || file != model->base)
		return false;
	return content ? content->offset == model->gguf->tensors[filling->tensor].offset
		       : from->slot == filling->tensor;
}

/* Is the content computed by adapters or a merge of models, so that no file has it? */
static bool is_made(const struct content *content)
{
	return content && (content->kind == CONTENT_MERGED || content->kind == CONTENT_BLEND);
}

/* Fill the slot with the organ at from, with the commit locks of both models held. */
static int link_slot(struct filling *filling, const struct origin *from)
{
	struct model *model = filling->model;
	const uint64_t ino = inode_new(model);
	const struct content *content = from->content;
	struct timespec base;
	const char *print;
	int rc;

	filling->organ = model_organ(from->model, from->slot, content);
	filling_find(filling);
	rc = filling_check(filling);
	if (rc == 0)
		rc = filling_reserve(filling);
	if (rc < 0)
		return rc;
	if (is_made(content))
		return -ESTALE;
	if (content && content->kind == CONTENT_COPY)
		return filling_has_other_time(filling, &content->mtime) ? -ESTALE
									: share(filling, from);
	if (content_is_link(content))
		return put_content(filling, link_again(ino, content));
	base = model_time(model);
	if (is_own(filling, from) && !filling_has_other_time(filling, &base) &&
	    !slots_has_beneath(model->slots, filling->tensor))
		return filling_restore(filling);
	/* A reference to a reference refers to the same tensor. */
	if (content)
		return put_content(filling,
				   content_new_reference(ino, &content->organ, content->file,
							 content->offset, content->fingerprint));
	/* The next mount finds a model by its fingerprint, which needs all shards. */
	if (!from->model->whole)
		return -ESTALE;
	print = model_fingerprint(from->model);
	if (!print[0])
		return -EIO;
	return put_content(filling,
			   content_new_reference(ino, &filling->organ, from->model->base,
						 from->model->gguf->tensors[from->slot].offset,
						 print));
}

/* Has the slot at from still this content, with the commit locks held? */
static bool is_current(const struct origin *from)
{
	struct content *now;
	bool current;

	if (!from->content || from->content->kind != CONTENT_COPY)
		return true;
	now = slots_get_own(from->model->slots, from->slot);
	current = now == from->content;
	content_unref(now);
	return current;
}

/* Lock order of two models: by their numbers. */
static void lock_both(struct model *a, struct model *b)
{
	struct model *first = a->number < b->number ? a : b;

	journal_begin(first);
	if (a != b)
		journal_begin(first == a ? b : a);
}

static void unlock_both(struct model *a, struct model *b)
{
	journal_end(a);
	if (a != b)
		journal_end(b);
}

static bool is_at(const struct filling *filling, const struct origin *from)
{
	return !filling->is_new && filling->model == from->model && filling->tensor == from->slot;
}

/* Does the slot still hold, or show, the content at from? A content put aside under another name
 * may come back to a slot that was filled meanwhile. */
static bool is_onto_itself(const struct filling *filling, const struct origin *from)
{
	struct content *own, *shown;
	bool same;

	if (!is_at(filling, from) || !from->content)
		return false;
	own = slots_get_own(from->model->slots, from->slot);
	shown = slots_get(from->model->slots, from->slot);
	same = own == from->content || shown == from->content;
	content_unref(own);
	content_unref(shown);
	return same;
}

int graft_fill_from(struct filling *filling, const struct origin *from)
{
	struct model *model = filling->model;
	int rc = -ESTALE;

	lock_both(model, from->model);
	filling_find(filling);
	if (is_current(from) && !filling_has_moved_on(filling)) {
		rc = journal_check(model);
		/* A copy onto itself changes nothing. */
		if (rc == 0 && !is_onto_itself(filling, from))
			rc = link_slot(filling, from);
	}
	unlock_both(model, from->model);
	/* Between filesystems the bytes must be copied. */
	return rc == -EXDEV ? -ESTALE : rc;
}

struct stage *graft_stage_of(const struct origin *origin, struct layer *layer)
{
	struct view *shown = organ_file_view(origin->model, origin->slot, origin->content);
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = shown && empty ? stage_new(layer, empty) : NULL;

	if (stage)
		stage_adopt(stage, shown, origin);
	view_unref(empty);
	view_unref(shown);
	return stage;
}

static int copy_shown(const struct origin *origin, struct model *model, enum organ_class klass,
		      const char *name)
{
	struct stage *stage = graft_stage_of(origin, model->layer);
	const int rc = stage ? graft_fill_name(model, klass, name, stage) : -ENOMEM;

	stage_free(stage);
	return rc;
}

int graft_link(struct model *from, uint32_t tensor, struct model *model, enum organ_class klass,
	       const char *name)
{
	struct filling filling = {
		.model = model, .klass = klass, .name = name, .any_shape = model->any_shape
	};
	struct origin origin = { .model = from, .slot = tensor };
	bool merged;
	int rc = 0;

	lock_both(model, from);
	origin.content = slots_get(from->slots, tensor);
	merged = is_made(origin.content);
	filling_find(&filling);
	if (content_is_whiteout(origin.content))
		rc = -ENOENT;
	else if (!merged && !is_at(&filling, &origin) && (rc = journal_check(model)) == 0)
		rc = link_slot(&filling, &origin);
	unlock_both(model, from);
	if (merged)
		rc = copy_shown(&origin, model, klass, name);
	content_unref(origin.content);
	return merged || rc == -ENOENT || rc == -EXDEV ? rc : filling_end(&filling, rc);
}

/* Change both slots in one transaction, with the commit lock held. */
static int move_slot(struct filling *filling, const struct origin *from)
{
	struct model *model = filling->model;
	const struct layer_undone moved_from = journal_emptied(model, from->slot);
	int rc = -ENOMEM;

	filling->moved_from = &moved_from;
	filling->moved_from_slot = from->slot;
	filling->moved_from_whiteout = content_new_whiteout();
	if (filling->moved_from_whiteout)
		rc = link_slot(filling, from);
	content_unref(filling->moved_from_whiteout);
	filling->moved_from = NULL;
	return rc;
}

int graft_move(struct model *model, uint32_t tensor, enum organ_class klass, const char *name)
{
	struct filling filling = {
		.model = model, .klass = klass, .name = name, .any_shape = model->any_shape
	};
	struct origin from = { .model = model, .slot = tensor };
	int rc = 0;

	journal_begin(model);
	from.content = slots_get_own(model->slots, tensor);
	filling_find(&filling);
	if (content_is_whiteout(from.content))
		rc = -ENOENT;
	else if (is_made(from.content))
		rc = -EXDEV;
	else if (!is_at(&filling, &from) && (rc = journal_check(model)) == 0)
		rc = move_slot(&filling, &from);
	journal_end(model);
	content_unref(from.content);
	if (rc == 0)
		filling_log_role(&filling);
	return rc < 0 && rc != -ENOENT && rc != -EXDEV ? filling_refuse(&filling, rc) : rc;
}
