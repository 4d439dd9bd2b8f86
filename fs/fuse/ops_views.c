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

/* What a slot of a node holds, as that node knows it. */
static struct located located_of(const struct node *node)
{
	return files_locate(node->model, node->index, node->content);
}

static uint32_t experts_of(const struct node *node)
{
	return files_experts(node->model, node->index, node->content);
}

uint64_t ops_view_size(const struct node *node)
{
	const struct located stack = located_of(node);
	struct organ slice;

	if (node->kind == NODE_FORMED)
		return form_size(node->part, &stack.organ);
	if (node->part == INODE_ORDER)
		return experts_order_size(experts_of(node));
	slice = experts_slice(&stack, node->part).organ;
	return slice.header_size + slice.data_size;
}

struct view *ops_view_content(const struct node *node)
{
	const struct located stack = located_of(node);
	struct located slice;

	if (node->kind == NODE_FORMED)
		return form_view(node->part, &stack);
	if (node->part == INODE_ORDER)
		return experts_order(experts_of(node));
	slice = experts_slice(&stack, node->part);
	return located_view(&slice);
}

struct organ ops_view_organ(const struct node *node)
{
	const struct located stack = located_of(node);

	if (node->kind == NODE_FORMED)
		return form_organ(node->part, &stack.organ);
	return node->part == INODE_ORDER ? stack.organ : experts_slice(&stack, node->part).organ;
}

struct node *ops_stage_expert(struct fs *fs, const struct node *expert)
{
	struct model *model = expert->model;
	struct node made = { .ino = inode_new(model),
			     .kind = NODE_EXPERT_STAGE,
			     .index = expert->index,
			     .part = expert->part,
			     .model = model };
	/* As everywhere, what adapters make of it is not written to. */
	struct node own = *expert;
	struct view *view;

	own.content = content_own(expert->content);
	view = ops_view_content(&own);
	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? nodes_add(fs->nodes, &made) : NULL;
}

int ops_commit_expert(struct node *node)
{
	return node->part == INODE_ORDER
		       ? experts_arrange(node->model, node->index, node->stage)
		       : experts_put(node->model, node->index, node->part, node->stage);
}

/* Has the slot a directory of experts, with that content? */
static bool has_experts(const struct model *model, uint32_t tensor, const struct content *content)
{
	return tensor < INODE_EXPERT_TENSORS &&
	       files_has_form(model, tensor, content, FORM_EXPERTS);
}

/* CLASS/NAME and the ending of the form. */
static struct node *find_formed(struct fs *fs, const struct node *directory, const char *name,
				int *rc)
{
	struct model *model = directory->model;
	const enum form form = directory->part;
	const char *ending = form_ending(form);
	const size_t n = strlen(name), cut = strlen(ending);
	struct node *node = NULL;
	struct content *content;
	uint32_t tensor;

	if (n <= cut || strcmp(name + n - cut, ending) != 0 ||
	    !model_find(model, directory->index, name, n - cut, &tensor))
		return NULL;
	if (form != FORM_EXPERTS)
		return nodes_made(fs->nodes, NODE_FORMED, model, tensor, form, rc);
	content = slots_get(model->slots, tensor);
	if (has_experts(model, tensor, content))
		node = nodes_get(fs->nodes, inode_of_formed(model, form, tensor));
	content_unref(content);
	return node;
}

/* How many experts the slot has now. */
static uint32_t count_now(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	const uint32_t n = files_experts(model, tensor, content);

	content_unref(content);
	return n;
}

static struct node *find_expert(struct fs *fs, const struct node *directory, const char *name,
				int *rc)
{
	const uint32_t n = count_now(directory->model, directory->index);
	const size_t length = ops_slot_name(name);
	uint32_t part = INODE_ORDER;

	if (strcmp(name, ORDER_NAME) != 0 && !experts_find(name, length, n, &part))
		return NULL;
	return nodes_made(fs->nodes, NODE_EXPERT, directory->model, directory->index, part, rc);
}

struct node *ops_find_in_views(struct fs *fs, const struct node *directory, const char *name,
			       int *rc)
{
	struct model *model = directory->model;

	switch (directory->kind) {
	case NODE_VIEWS:
		for (enum form form = 0; form < FORMS; form++)
			if (strcmp(name, form_name(form)) == 0)
				return nodes_get(fs->nodes, inode_of_form(model, form));
		return NULL;
	case NODE_FORM:
		for (enum organ_class klass = 0; klass < CLASSES; klass++)
			if (strcmp(name, class_name(klass)) == 0 &&
			    ops_is_listed_class(model, klass))
				return nodes_get(fs->nodes,
						 inode_of_form_class(model, directory->part,
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

static bool list_form(const struct node *directory, uint64_t place, struct listed *entry)
{
	struct model *model = directory->model;

	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (ops_is_listed_class(model, klass) && place-- == 0)
			return list_directory(entry, class_name(klass),
					      inode_of_form_class(model, directory->part, klass));
	return false;
}

static bool list_formed(const struct node *directory, uint64_t *place, struct listed *entry)
{
	struct model *model = directory->model;
	const enum form form = directory->part;
	const bool experts = form == FORM_EXPERTS;
	uint32_t tensor;

	for (; *place <= UINT32_MAX; ++*place) {
		struct content *content;
		bool found;

		if (!model_member(model, directory->index, (uint32_t)*place, &tensor))
			break;
		content = slots_get(model->slots, tensor);
		found = experts ? has_experts(model, tensor, content)
				: files_has_form(model, tensor, content, form);
		if (found) {
			snprintf(entry->name, sizeof(entry->name), "%s%s",
				 model->places[tensor].name, form_ending(form));
			entry->ino =
				experts ? inode_of_formed(model, form, tensor)
					: nodes_made_ino(model, NODE_FORMED, tensor, form, content);
			entry->type = experts ? S_IFDIR : S_IFREG;
		}
		content_unref(content);
		if (found)
			return true;
	}
	return false;
}

/* The experts, then their order. */
static bool list_experts(const struct node *directory, uint64_t place, struct listed *entry)
{
	struct model *model = directory->model;
	const uint32_t tensor = directory->index;
	struct content *content = slots_get(model->slots, tensor);
	const uint32_t n = files_experts(model, tensor, content);
	const uint32_t part = place < n ? (uint32_t)place : INODE_ORDER;
	char name[EXPERT_NAME_MAX];

	if (n) {
		experts_name(part, n, name);
		snprintf(entry->name, sizeof(entry->name), "%s%s",
			 part == INODE_ORDER ? ORDER_NAME : name,
			 part == INODE_ORDER ? "" : ".bin");
		entry->ino = nodes_made_ino(model, NODE_EXPERT, tensor, part, content);
		entry->type = S_IFREG;
	}
	content_unref(content);
	return n && place <= n;
}

bool ops_list_views(const struct node *directory, uint64_t *place, struct listed *entry)
{
	switch (directory->kind) {
	case NODE_VIEWS:
		return *place < FORMS &&
		       list_directory(entry, form_name((enum form) * place),
				      inode_of_form(directory->model, (uint32_t)*place));
	case NODE_FORM:
		return list_form(directory, *place, entry);
	case NODE_FORM_CLASS:
		return list_formed(directory, place, entry);
	default:
		return list_experts(directory, *place, entry);
	}
}

uint64_t ops_view_parent(const struct node *directory)
{
	const struct model *model = directory->model;

	switch (directory->kind) {
	case NODE_FORM:
		return inode_of_directory(model, INODE_VIEWS, 0);
	case NODE_FORM_CLASS:
		return inode_of_form(model, directory->part);
	default:
		return inode_of_form_class(model, FORM_EXPERTS,
					   model->places[directory->index].klass);
	}
}
