/* SPDX-License-Identifier: MIT */
/* ops_views.c - what is in .views: directories of forms, in them the classes, in these what the
 * slots hold in that form, a file or a directory of experts each. */
#include "fs/fuse/ops_views.h"
#include "fs/edit/expert_edit.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/organ_views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ORDER_NAME "order"

/* What a slot of an inode holds, as that inode knows it. */
static struct organ_location located_of(const struct inode *inode)
{
	return organ_file_locate(inode->model, inode->index, inode->content);
}

static uint32_t experts_of(const struct inode *inode)
{
	return organ_file_experts(inode->model, inode->index, inode->content);
}

uint64_t ops_view_size(const struct inode *inode)
{
	const struct organ_location stack = located_of(inode);
	struct organ slice;

	if (inode->kind == NODE_FORMED)
		return organ_view_size(inode->part, &stack.organ);
	if (inode->part == INODE_ORDER)
		return expert_slice_order_size(experts_of(inode));
	slice = expert_slice(&stack, inode->part).organ;
	return slice.header_size + slice.data_size;
}

struct view *ops_view_content(const struct inode *inode)
{
	const struct organ_location stack = located_of(inode);
	struct organ_location slice;

	if (inode->kind == NODE_FORMED)
		return organ_view_new(inode->part, &stack);
	if (inode->part == INODE_ORDER)
		return expert_slice_order(experts_of(inode));
	slice = expert_slice(&stack, inode->part);
	return organ_location_view(&slice);
}

struct organ ops_view_organ(const struct inode *inode)
{
	const struct organ_location stack = located_of(inode);

	if (inode->kind == NODE_FORMED)
		return organ_view_organ(inode->part, &stack.organ);
	return inode->part == INODE_ORDER ? stack.organ : expert_slice(&stack, inode->part).organ;
}

struct inode *ops_stage_expert(struct mount *fs, const struct inode *expert)
{
	struct model *model = expert->model;
	struct inode made = { .ino = inode_new(model),
			      .kind = NODE_EXPERT_STAGE,
			      .index = expert->index,
			      .part = expert->part,
			      .model = model };
	/* As everywhere, what adapters make of it is not written to. */
	struct inode own = *expert;
	struct view *view;

	own.content = content_own(expert->content);
	view = ops_view_content(&own);
	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? inodes_add(fs->inodes, &made) : NULL;
}

int ops_commit_expert(struct inode *inode)
{
	return inode->part == INODE_ORDER
		       ? expert_edit_reorder(inode->model, inode->index, inode->stage)
		       : expert_edit_put(inode->model, inode->index, inode->part, inode->stage);
}

/* Has the slot a directory of experts, with that content? */
static bool has_experts(const struct model *model, uint32_t tensor, const struct content *content)
{
	return tensor < INODE_EXPERT_TENSORS &&
	       organ_file_has_view(model, tensor, content, ORGAN_VIEW_EXPERTS);
}

/* CLASS/NAME and the ending of the form. */
static struct inode *find_formed(struct mount *fs, const struct inode *directory, const char *name,
				 int *rc)
{
	struct model *model = directory->model;
	const enum organ_view form = directory->part;
	const char *ending = organ_view_suffix(form);
	const size_t n = strlen(name), cut = strlen(ending);
	struct inode *inode = NULL;
	struct content *content;
	uint32_t tensor;

	if (n <= cut || strcmp(name + n - cut, ending) != 0 ||
	    !model_find_slot(model, directory->index, name, n - cut, &tensor))
		return NULL;
	if (form != ORGAN_VIEW_EXPERTS)
		return inodes_computed(fs->inodes, NODE_FORMED, model, tensor, form, rc);
	content = slots_get(model->slots, tensor);
	if (has_experts(model, tensor, content))
		inode = inodes_get(fs->inodes, inode_of_view_file(model, form, tensor));
	content_unref(content);
	return inode;
}

/* How many experts the slot has now. */
static uint32_t count_now(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	const uint32_t n = organ_file_experts(model, tensor, content);

	content_unref(content);
	return n;
}

static struct inode *find_expert(struct mount *fs, const struct inode *directory, const char *name,
				 int *rc)
{
	const uint32_t n = count_now(directory->model, directory->index);
	const size_t length = ops_slot_name(name);
	uint32_t part = INODE_ORDER;

	if (strcmp(name, ORDER_NAME) != 0 && !expert_slice_find(name, length, n, &part))
		return NULL;
	return inodes_computed(fs->inodes, NODE_EXPERT, directory->model, directory->index, part,
			       rc);
}

struct inode *ops_find_in_views(struct mount *fs, const struct inode *directory, const char *name,
				int *rc)
{
	struct model *model = directory->model;

	switch (directory->kind) {
	case NODE_VIEWS:
		for (enum organ_view form = 0; form < ORGAN_VIEWS; form++)
			if (strcmp(name, organ_view_name(form)) == 0)
				return inodes_get(fs->inodes, inode_of_view_dir(model, form));
		return NULL;
	case NODE_FORM:
		for (enum organ_class klass = 0; klass < CLASSES; klass++)
			if (strcmp(name, class_name(klass)) == 0 &&
			    ops_is_listed_class(model, klass))
				return inodes_get(fs->inodes,
						  inode_of_view_class_dir(model, directory->part,
									  klass));
		return NULL;
	case NODE_FORM_CLASS:
		return find_formed(fs, directory, name, rc);
	default:
		return find_expert(fs, directory, name, rc);
	}
}

static bool list_directory(struct listed *entry, const char *name, uint64_t ino)
{
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->ino = ino;
	entry->type = S_IFDIR;
	return true;
}

static bool list_form(const struct inode *directory, uint64_t place, struct listed *entry)
{
	struct model *model = directory->model;

	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (ops_is_listed_class(model, klass) && place-- == 0)
			return list_directory(entry, class_name(klass),
					      inode_of_view_class_dir(model, directory->part,
								      klass));
	return false;
}

static bool list_formed(const struct inode *directory, uint64_t *place, struct listed *entry)
{
	struct model *model = directory->model;
	const enum organ_view form = directory->part;
	const bool experts = form == ORGAN_VIEW_EXPERTS;
	uint32_t tensor;

	for (; *place <= UINT32_MAX; ++*place) {
		struct content *content;
		bool found;

		if (!model_class_slot(model, directory->index, (uint32_t)*place, &tensor))
			break;
		content = slots_get(model->slots, tensor);
		found = experts ? has_experts(model, tensor, content)
				: organ_file_has_view(model, tensor, content, form);
		if (found) {
			snprintf(entry->name, sizeof(entry->name), "%s%s",
				 model->places[tensor].name, organ_view_suffix(form));
			entry->ino = experts ? inode_of_view_file(model, form, tensor)
					     : inodes_computed_ino(model, NODE_FORMED, tensor, form,
								   content);
			entry->type = experts ? S_IFDIR : S_IFREG;
		}
		content_unref(content);
		if (found)
			return true;
	}
	return false;
}

/* The experts, then their order. */
static bool list_experts(const struct inode *directory, uint64_t place, struct listed *entry)
{
	struct model *model = directory->model;
	const uint32_t tensor = directory->index;
	struct content *content = slots_get(model->slots, tensor);
	const uint32_t n = organ_file_experts(model, tensor, content);
	const uint32_t part = place < n ? (uint32_t)place : INODE_ORDER;
	char name[EXPERT_SLICE_NAME_MAX];

	if (n) {
		expert_slice_name(part, n, name);
		snprintf(entry->name, sizeof(entry->name), "%s%s",
			 part == INODE_ORDER ? ORDER_NAME : name,
			 part == INODE_ORDER ? "" : ".bin");
		entry->ino = inodes_computed_ino(model, NODE_EXPERT, tensor, part, content);
		entry->type = S_IFREG;
	}
	content_unref(content);
	return n && place <= n;
}

bool ops_list_views(const struct inode *directory, uint64_t *place, struct listed *entry)
{
	switch (directory->kind) {
	case NODE_VIEWS:
		return *place < ORGAN_VIEWS &&
		       list_directory(entry, organ_view_name((enum organ_view) * place),
				      inode_of_view_dir(directory->model, (uint32_t)*place));
	case NODE_FORM:
		return list_form(directory, *place, entry);
	case NODE_FORM_CLASS:
		return list_formed(directory, place, entry);
	default:
		return list_experts(directory, *place, entry);
	}
}

uint64_t ops_view_parent(const struct inode *directory)
{
	const struct model *model = directory->model;

	switch (directory->kind) {
	case NODE_FORM:
		return inode_of_directory(model, INODE_VIEWS, 0);
	case NODE_FORM_CLASS:
		return inode_of_view_dir(model, directory->part);
	default:
		return inode_of_view_class_dir(model, ORGAN_VIEW_EXPERTS,
					       model->places[directory->index].klass);
	}
}
