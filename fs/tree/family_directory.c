/* SPDX-License-Identifier: MIT */
/* family_directory.c - the root of the mount and of each model, and .base. */
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/tree/tree.h"

#include <stdio.h>
#include <string.h>

void tree_list_generated(struct generated *generated, enum generated_kind kind,
			 struct listed *entry)
{
	snprintf(entry->name, sizeof(entry->name), "%s", generated_name(kind));
	entry->ino = generated_ino(generated, kind);
	entry->type = S_IFREG;
}

bool tree_list_directory(struct listed *entry, const char *name, uint64_t ino)
{
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->ino = ino;
	entry->type = S_IFDIR;
	return true;
}

bool tree_next_class(struct model *model, bool adapters, uint64_t *place, enum organ_class *klass)
{
	for (*klass = 0; *klass < CLASSES; ++*klass)
		if ((tree_is_listed_class(model, *klass) ||
		     (adapters && *klass == CLASS_ADAPTERS && adapters_any(model))) &&
		    (*place)-- == 0)
			return true;
	return false;
}

bool tree_find_class(const char *name, enum organ_class *klass)
{
	*klass = 0;
	while (*klass < CLASSES && strcmp(name, class_name(*klass)) != 0)
		++*klass;
	return *klass < CLASSES;
}

uint64_t tree_parent_root(const struct tree *tree, const struct inode *directory)
{
	return inodes_root_ino(tree->inodes, directory->model);
}

uint64_t tree_parent_base(const struct tree *tree, const struct inode *directory)
{
	(void)tree;
	return inode_of_directory(directory->model, INODE_BASE, 0);
}

static uint64_t root_parent(const struct tree *tree, const struct inode *directory)
{
	(void)tree;
	(void)directory;
	return INODE_ROOT;
}

/* In the root of several models their directories, and some files. */
static struct inode *models_lookup(const struct tree *tree, const struct inode *directory,
				   const char *name, int *rc)
{
	struct model *model = models_root_find(tree->overview, name);

	(void)directory;
	return model ? inodes_get(tree->inodes, inodes_root_ino(tree->inodes, model))
		     : models_root_inode(tree->overview, name, rc);
}

static bool models_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			struct listed *entry)
{
	(void)directory;
	if (*place < tree->n_models) {
		const struct model *model = tree->model_files[*place].model;

		return tree_list_directory(entry, model->shown,
					   inodes_root_ino(tree->inodes, model));
	}
	entry->type = S_IFREG;
	return models_root_file(tree->overview, *place - tree->n_models, entry->name, &entry->ino);
}

static const char *models_advice(const char *name)
{
	(void)name;
	return "here are the directories of models; each has directories of its own for "
	       "organs, adapters and metadata";
}

const struct family family_models = {
	.mode = S_IFDIR | 0555,
	.nlink = 2,
	.name = NAME_FOREVER,
	.links = LINKS_YES,
	.root = true,
	.lookup = models_lookup,
	.list = models_list,
	.parent = root_parent,
	.advice = models_advice,
};

/* Adapters can be put where none are. */
static bool is_there(const struct tree *tree, struct model *model, enum organ_class klass)
{
	return tree_is_listed_class(model, klass) ||
	       (klass == CLASS_ADAPTERS && (tree_can_graft(tree, model) || adapters_any(model)));
}

static struct inode *root_lookup(const struct tree *tree, const struct inode *root,
				 const char *name, int *rc)
{
	struct model *model = root->model;
	enum organ_class klass;
	struct inode *inode;

	if (tree_find_class(name, &klass) && is_there(tree, model, klass))
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_CLASS, klass));
	if (strcmp(name, "metadata") == 0)
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_METADATA, 0));
	if (strcmp(name, ".base") == 0)
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_BASE, 0));
	if (strcmp(name, ".views") == 0)
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_VIEWS, 0));
	inode = generated_find(tree_generated(tree, root), 0, GENERATED_IN_ROOT, name, rc);
	if (!inode)
		scratch_files_find(tree->scratches, root->ino, name, &inode);
	return inode;
}

static bool root_may_block(const struct tree *tree, const struct inode *root, const char *name)
{
	return generated_may_block(tree_generated(tree, root), 0, GENERATED_IN_ROOT, name);
}

/* The classes that are there, then the generated files. metadata is not listed, as .base is not: no
 * program tells us whether it writes a value because its user has named that, or as part of a whole
 * tree that is copied, and of the latter the values are to stay. */
static bool root_list(const struct tree *tree, const struct inode *root, uint64_t *place,
		      struct listed *entry)
{
	struct model *model = root->model;
	uint64_t left = *place;
	enum organ_class klass;

	if (tree_next_class(model, true, &left, &klass))
		return tree_list_directory(entry, class_name(klass),
					   inode_of_directory(model, INODE_CLASS, klass));
	if (tree->list_views && left-- == 0)
		return tree_list_directory(entry, "metadata",
					   inode_of_directory(model, INODE_METADATA, 0));
	if (left < GENERATED_IN_ROOT) {
		tree_list_generated(tree_generated(tree, root), (enum generated_kind)left, entry);
		return true;
	}
	left -= GENERATED_IN_ROOT;
	return left < 2 && tree->list_views &&
	       tree_list_directory(entry, left == 0 ? ".base" : ".views",
				   inode_of_directory(model, left == 0 ? INODE_BASE : INODE_VIEWS,
						      0));
}

static bool ends_with(const char *name, const char *ending)
{
	const size_t n = strlen(name), m = strlen(ending);

	return n > m && strcmp(name + n - m, ending) == 0;
}

static const char *root_advice(const char *name)
{
	if (ends_with(name, ".gguf"))
		return "an adapter (LoRA) is linked in adapters: ln -s /PATH/TO/FILE adapters/; a "
		       "donor is mounted beside: organfs FILE DIRECTORY";
	if (ends_with(name, ".bin") || ends_with(name, ".npy"))
		return "an organ goes into the directory of its class: skeleton, organs, embed or "
		       "norm";
	return "organs go into the directories of their classes, values into metadata, and other "
	       "files beside the mount";
}

const struct family family_root = {
	.mode = S_IFDIR | 0777,
	.nlink = 3 + CLASSES,
	.name = NAME_FOREVER,
	.links = LINKS_YES,
	.root = true,
	.lookup = root_lookup,
	.may_block = root_may_block,
	.list = root_list,
	.parent = root_parent,
	.advice = root_advice,
};

/* In .base there are the classes and the picture. */
static struct inode *base_lookup(const struct tree *tree, const struct inode *base,
				 const char *name, int *rc)
{
	struct model *model = base->model;
	enum organ_class klass;

	if (tree_find_class(name, &klass) && tree_is_listed_class(model, klass))
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_BASE_CLASS, klass));
	if (strcmp(name, "metadata") == 0)
		return inodes_get(tree->inodes, inode_of_directory(model, INODE_BASE_METADATA, 0));
	return generated_find(tree_generated(tree, base), GENERATED_IN_VIEWS, GENERATED_IN_BASE,
			      name, rc);
}

static bool base_list(const struct tree *tree, const struct inode *base, uint64_t *place,
		      struct listed *entry)
{
	struct model *model = base->model;
	uint64_t left = *place;
	enum organ_class klass;

	if (tree_next_class(model, false, &left, &klass))
		return tree_list_directory(entry, class_name(klass),
					   inode_of_directory(model, INODE_BASE_CLASS, klass));
	if (left == 0)
		return tree_list_directory(entry, "metadata",
					   inode_of_directory(model, INODE_BASE_METADATA, 0));
	if (left == 1)
		tree_list_generated(tree_generated(tree, base), GENERATED_BASE_PICTURE, entry);
	return left == 1;
}

const struct family family_base = {
	.mode = S_IFDIR | 0555,
	.nlink = 2,
	.name = NAME_FOREVER,
	.lookup = base_lookup,
	.list = base_list,
	.parent = tree_parent_root,
};

/* In a class of .base what the base has. */
static struct inode *base_class_lookup(const struct tree *tree, const struct inode *directory,
				       const char *name, int *rc)
{
	struct model *model = directory->model;
	const char *ending = strrchr(name, '.');
	uint64_t theta = 0;
	uint32_t tensor;

	(void)rc;
	if (!ending ||
	    !model_find_slot(model, directory->index, name, (size_t)(ending - name), &tensor) ||
	    tensor >= model->gguf->n_tensors)
		return NULL;
	if (strcmp(ending, ".theta") == 0)
		theta = INODE_BASE_THETA;
	else if (strcmp(ending, ".bin") != 0)
		return NULL;
	return inodes_get(tree->inodes, inode_of(model->number, INODE_BASE_ORGAN, theta | tensor));
}

static bool base_class_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			    struct listed *entry)
{
	struct model *model = directory->model;
	const bool theta = *place % 2;
	uint32_t tensor;

	(void)tree;
	if (*place / 2 > UINT32_MAX ||
	    !model_class_slot(model, directory->index, (uint32_t)(*place / 2), &tensor) ||
	    tensor >= model->gguf->n_tensors)
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s.%s", model->places[tensor].name,
		 theta ? "theta" : "bin");
	entry->ino =
		inode_of(model->number, INODE_BASE_ORGAN, (theta ? INODE_BASE_THETA : 0) | tensor);
	entry->type = S_IFREG;
	return true;
}

const struct family family_base_class = {
	.mode = S_IFDIR | 0555,
	.nlink = 2,
	.name = NAME_FOREVER,
	.lookup = base_class_lookup,
	.list = base_class_list,
	.parent = tree_parent_base,
};
