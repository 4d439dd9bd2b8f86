/* SPDX-License-Identifier: MIT */
/* family_expert.c - experts: the directory of a tensor's experts with one file each and their
 * order; the bytes written over one. */
#include "fs/edit/expert_edit.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tree/family.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ORDER_NAME "order"

static uint32_t experts_of(const struct inode *inode)
{
	return organ_file_experts(inode->model, inode->index, inode->content);
}

static struct inode *experts_lookup(const struct tree *tree, const struct inode *directory,
				    const char *name, int *rc)
{
	struct model *model = directory->model;
	struct content *content = slots_get(model->slots, directory->index);
	const uint32_t n = organ_file_experts(model, directory->index, content);
	const size_t length = tree_slot_name(name);
	uint32_t part = INODE_ORDER;

	content_unref(content);
	if (strcmp(name, ORDER_NAME) != 0 && !expert_slice_find(name, length, n, &part))
		return NULL;
	return inodes_computed(tree->inodes, FAMILY_EXPERT, model, directory->index, part, rc);
}

static bool experts_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			 struct listed *entry)
{
	struct model *model = directory->model;
	const uint32_t tensor = directory->index;
	struct content *content = slots_get(model->slots, tensor);
	const uint32_t n = organ_file_experts(model, tensor, content);
	const uint32_t part = *place < n ? (uint32_t)*place : INODE_ORDER;
	char name[EXPERT_SLICE_NAME_MAX];

	(void)tree;
	if (n) {
		expert_slice_name(part, n, name);
		snprintf(entry->name, sizeof(entry->name), "%s%s",
			 part == INODE_ORDER ? ORDER_NAME : name,
			 part == INODE_ORDER ? "" : ".bin");
		entry->ino = inodes_computed_ino(model, FAMILY_EXPERT, tensor, part, content);
		entry->type = S_IFREG;
	}
	content_unref(content);
	return n && *place <= n;
}

/* The kernel does not cache the name, because the directory goes when its slot is emptied. */
const struct family family_experts = {
	.path = ".views/experts/S",
	.mode = S_IFDIR | 0555,
	.links = LINKS_YES,
	.lookup = experts_lookup,
	.list = experts_list,
};

static uint64_t expert_size(const struct inode *inode)
{
	const struct organ_location stack = tree_locate(inode);
	struct organ slice;

	if (inode->part == INODE_ORDER)
		return expert_slice_order_size(experts_of(inode));
	slice = expert_slice(&stack, inode->part).organ;
	return slice.header_size + slice.data_size;
}

static struct view *expert_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	const struct organ_location stack = tree_locate(inode);
	struct organ_location slice;

	(void)tree;
	*rc = -ENOMEM;
	if (inode->part == INODE_ORDER)
		return expert_slice_order(experts_of(inode));
	slice = expert_slice(&stack, inode->part);
	return organ_location_view(&slice);
}

static struct organ expert_organ(const struct inode *inode)
{
	const struct organ_location stack = tree_locate(inode);

	return inode->part == INODE_ORDER ? stack.organ : expert_slice(&stack, inode->part).organ;
}

static uint64_t expert_number(const struct inode *inode)
{
	return inode_of_expert(inode->model, inode->index, inode->part);
}

/* Write to the slot's own content: adapters would be merged twice. */
static struct inode *expert_stage(const struct tree *tree, const struct inode *expert)
{
	struct inode own = *expert;
	int rc;

	own.content = content_own(expert->content);
	return tree_make_stage(tree, FAMILY_EXPERT_STAGE, expert, expert_open(tree, &own, &rc));
}

static int expert_truncate(struct inode *inode, uint64_t size)
{
	return size == expert_size(inode) ? 0 : -EINVAL;
}

static int expert_commit(const struct tree *tree, struct inode *inode)
{
	(void)tree;
	return inode->part == INODE_ORDER
		       ? expert_edit_reorder(inode->model, inode->index, inode->stage)
		       : expert_edit_put(inode->model, inode->index, inode->part, inode->stage);
}

const struct family family_expert = {
	.mode = S_IFREG | 0666,
	.attributes = family_organ_attributes,
	.size = expert_size,
	.open = expert_open,
	.number = expert_number,
	.title = family_organ_name,
	.stage = expert_stage,
	.truncate = expert_truncate,
	.attribute = family_view_attribute,
	.organ = expert_organ,
};

const struct family family_expert_stage = {
	.mode = S_IFREG | 0666,
	.number = expert_number,
	.commit = expert_commit,
	.title = family_organ_name,
};
