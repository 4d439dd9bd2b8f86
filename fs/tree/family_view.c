/* SPDX-License-Identifier: MIT */
/* family_view.c - .views: the classes of a form, with a file or a directory of experts per slot;
 * and the shards. */
#include "fs/edit/npy_edit.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/npy.h"
#include "fs/tree/family.h"
#include "fs/tree/shard_files.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Has a slot with that content a file, or a directory of experts, in that form? */
static bool has_form(const struct model *model, uint32_t tensor, const struct content *content,
		     enum organ_view form)
{
	return (form != ORGAN_VIEW_EXPERTS || tensor < INODE_EXPERT_TENSORS) &&
	       organ_file_has_view(model, tensor, content, form);
}

static struct inode *form_class_lookup(const struct tree *tree, const struct inode *directory,
				       const char *name, int *rc)
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
		return inodes_computed(tree->inodes, FAMILY_FORMED, model, tensor, form, rc);
	content = slots_get(model->slots, tensor);
	if (has_form(model, tensor, content, form))
		inode = inodes_get(tree->inodes, inode_of_view_file(model, form, tensor));
	content_unref(content);
	return inode;
}

static bool form_class_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			    struct listed *entry)
{
	struct model *model = directory->model;
	const enum organ_view form = directory->part;
	const bool experts = form == ORGAN_VIEW_EXPERTS;
	uint32_t tensor;

	(void)tree;
	for (; *place <= UINT32_MAX; ++*place) {
		struct content *content;
		bool found;

		if (!model_class_slot(model, directory->index, (uint32_t)*place, &tensor))
			break;
		content = slots_get(model->slots, tensor);
		found = has_form(model, tensor, content, form);
		if (found) {
			snprintf(entry->name, sizeof(entry->name), "%s%s",
				 model->places[tensor].name, organ_view_suffix(form));
			entry->ino = experts ? inode_of_view_file(model, form, tensor)
					     : inodes_computed_ino(model, FAMILY_FORMED, tensor,
								   form, content);
			entry->type = experts ? S_IFDIR : S_IFREG;
		}
		content_unref(content);
		if (found)
			return true;
	}
	return false;
}

const struct family family_form_class = {
	.path = ".views/F/C",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.lookup = form_class_lookup,
	.list = form_class_list,
};

static uint64_t formed_size(const struct inode *inode)
{
	const struct organ_location stack = tree_locate(inode);

	return organ_view_size(inode->part, &stack.organ);
}

static struct view *formed_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	struct organ_location stack = tree_locate(inode);
	const struct organ in_slot =
		model_organ_in_place(inode->model, inode->index, inode->content);
	struct importance_matrix *importance = adapters_importance(inode->model);
	struct view *view;

	(void)tree;
	stack.in_slot = &in_slot;
	/* -ESTALE makes the kernel look up again: the matrix that the type needs may be gone
	 * since. */
	*rc = organ_view_exists(inode->part, &in_slot, importance) ? -ENOMEM : -ESTALE;
	view = *rc == -ENOMEM ? organ_view_new(inode->part, &stack, importance) : NULL;
	importance_matrix_unref(importance);
	return view;
}

/* In another type the bytes depend on the importance matrix, if there has been one. */
static bool formed_varies(const struct inode *inode)
{
	return inode->part > ORGAN_VIEW_TYPES && adapters_importance_changes(inode->model) > 0;
}

static struct organ formed_organ(const struct inode *inode)
{
	const struct organ_location stack = tree_locate(inode);

	return organ_view_organ(inode->part, &stack.organ);
}

/* A purified form is read-only. So is a slot that adapters show with another type of values: header
 * and values of a map would come from two files. */
static bool formed_is_fixed(const struct inode *inode)
{
	struct organ shown, own;

	if (inode->part != ORGAN_VIEW_NPY)
		return true;
	shown = tree_locate(inode).organ;
	own = model_organ(inode->model, inode->index, content_own(inode->content));
	return npy_values(own.type) != npy_values(shown.type);
}

static uint64_t formed_number(const struct inode *inode)
{
	return inode_of_view_file(inode->model, inode->part, inode->index);
}

/* Write to the slot's own content: adapters would be merged twice. */
static struct inode *formed_stage(const struct tree *tree, const struct inode *formed)
{
	struct inode own = *formed;
	int rc;

	own.content = content_own(formed->content);
	return tree_make_stage(tree, FAMILY_FORMED_STAGE, formed, formed_open(tree, &own, &rc));
}

static int formed_truncate(struct inode *inode, uint64_t size)
{
	return size == formed_size(inode) ? 0 : -EINVAL;
}

static int formed_commit(const struct tree *tree, struct inode *inode)
{
	(void)tree;
	return npy_edit_put(inode->model, inode->index, inode->stage);
}

const struct family family_formed = {
	.varies = formed_varies,
	.mode = S_IFREG | 0666,
	.attributes = family_organ_attributes,
	.size = formed_size,
	.open = formed_open,
	.is_fixed = formed_is_fixed,
	.number = formed_number,
	.title = family_organ_name,
	.stage = formed_stage,
	.truncate = formed_truncate,
	.attribute = family_view_attribute,
	.organ = formed_organ,
};

const struct family family_formed_stage = {
	.mode = S_IFREG | 0666,
	.number = formed_number,
	.commit = formed_commit,
	.title = family_organ_name,
};

static struct shard_files *shards_of(const struct tree *tree, const struct inode *directory)
{
	return tree->model_files[directory->model->number].shards;
}

static struct inode *shards_lookup(const struct tree *tree, const struct inode *directory,
				   const char *name, int *rc)
{
	return shard_files_inode(shards_of(tree, directory), name, rc);
}

static bool shards_may_block(const struct tree *tree, const struct inode *directory,
			     const char *name)
{
	(void)name;
	return shard_files_may_block(shards_of(tree, directory));
}

static bool shards_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			struct listed *entry)
{
	struct shard_files *files = shards_of(tree, directory);
	const uint32_t n = shard_files_count(files);

	if (*place >= n)
		return false;
	entry->ino = shard_files_entry(files, (uint32_t)*place, n, entry->name);
	entry->type = S_IFREG;
	return true;
}

const struct family family_shards = {
	.path = ".views/shards",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.lookup = shards_lookup,
	.may_block = shards_may_block,
	.list = shards_list,
};
