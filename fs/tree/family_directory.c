/* SPDX-License-Identifier: MIT */
/* family_directory.c - directories with fixed names: the root of the mount and of each model, .base
 * with its classes, .views and the forms in it. */
#include "fs/model/adapters.h"
#include "fs/model/block_names.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/storage/view.h"
#include "fs/tensor/organ_views.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"
#include "fs/util/temporary_name.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t tree_parent(const struct tree *tree, const struct inode *directory)
{
	const struct model *model = directory->model;

	switch (directory->family) {
	case FAMILY_MODELS:
	case FAMILY_ROOT:
		return INODE_ROOT;
	case FAMILY_BASE_CLASS:
	case FAMILY_BASE_METADATA:
		return inode_of_directory(model, INODE_BASE, 0);
	case FAMILY_FORM:
		return directory->part > ORGAN_VIEW_TYPES
			       ? inode_of_view_dir(model, ORGAN_VIEW_TYPES)
			       : inode_of_directory(model, INODE_VIEWS, 0);
	case FAMILY_TYPES:
	case FAMILY_SHARDS:
		return inode_of_directory(model, INODE_VIEWS, 0);
	case FAMILY_FORM_CLASS:
		return inode_of_view_dir(model, directory->part);
	case FAMILY_BLOCK:
		return directory->part ? inode_of_block(model, directory->index, 0)
				       : inode_of_directory(model, INODE_BASE, INODE_BLOCKS);
	case FAMILY_EXPERTS:
		return inode_of_view_class_dir(model, ORGAN_VIEW_EXPERTS,
					       model->places[directory->index].klass);
	default:
		return inodes_root_ino(tree->inodes, model);
	}
}

#define TYPES_NAME "types"

void tree_path(const struct inode *directory, char *text, size_t n)
{
	const uint32_t index = directory->index, part = directory->part;
	const struct organ_place *places = directory->model ? directory->model->places : NULL;
	size_t used = 0;

	*text = '\0';
	for (const char *at = family_of(directory)->path; at && *at && used < n; at++) {
		char *to = text + used;
		const size_t room = n - used;

		if (*at == 'C')
			snprintf(to, room, "%s", class_name((enum organ_class)index));
		else if (*at == 'F')
			snprintf(to, room, "%s", organ_view_name(part));
		else if (*at == 'S')
			snprintf(to, room, "%s/%s", class_name(places[index].klass),
				 places[index].name);
		else if (*at == 'B' && part)
			snprintf(to, room, "%" PRIu32 "/%" PRIu32, index, part - 1);
		else if (*at == 'B')
			snprintf(to, room, "%" PRIu32, index);
		else
			snprintf(to, room, "%c", *at);
		used += strlen(to);
	}
}

/* A row of n names in a directory. */
struct fixed_names {
	unsigned n;
	enum {
		CLASS_NAMES,
		DIRECTORY,
		DIFFS,
		BLOCKS,
		SHARDS,
		FILES,
		FORMS,
		TYPES,
		TYPE_NAMES,
		LOSS
	} kind;
	unsigned number; /* enum inode_kind of a directory, enum generated_kind of a file */
	const char *name;
	bool unlisted; /* unless the user asked for it */
};

static const struct fixed_names models_rows[] = { { 1, FILES, .number = GENERATED_MANIFEST },
						  { 2, FILES, .number = GENERATED_THETA },
						  { 1, FILES, .number = GENERATED_LOG },
						  { 0 } };

/* Like .base, metadata and .recipe are not listed: a program that copies a whole tree would write
 * their values, which should stay, and cannot be told from a user who writes one of them on
 * purpose. */
static const struct fixed_names root_rows[] = { { CLASSES, CLASS_NAMES, .number = INODE_CLASS },
						{ 1, DIRECTORY, INODE_METADATA, "metadata", true },
						{ GENERATED_RECIPE, FILES, .number = 0 },
						{ 1, FILES, GENERATED_RECIPE, NULL, true },
						{ 1, FILES, GENERATED_TYPES, NULL, true },
						{ 1, FILES, GENERATED_MERGE, NULL, true },
						{ 1, BLOCKS, INODE_BASE, "blocks", true },
						{ 1, DIRECTORY, INODE_BASE, ".base", true },
						{ 1, DIFFS, INODE_BASE, ".diff", true },
						{ 1, DIRECTORY, INODE_VIEWS, ".views", true },
						{ 0 } };

static const struct fixed_names base_rows[] = {
	{ CLASSES, CLASS_NAMES, .number = INODE_BASE_CLASS },
	{ 1, DIRECTORY, INODE_BASE_METADATA, "metadata", false },
	{ 1, FILES, .number = GENERATED_BASE_PICTURE },
	{ 0 }
};

static const struct fixed_names views_rows[] = { { GENERATED_VIEWS_END - GENERATED_ROOT_END, FILES,
						   .number = GENERATED_ROOT_END },
						 { 1, SHARDS, INODE_VIEWS, "shards", false },
						 { ORGAN_VIEWS, FORMS, .number = INODE_VIEW_DIR },
						 { 1, TYPES, .number = INODE_VIEW_DIR },
						 { 0 } };

static const struct fixed_names types_rows[] = {
	{ GGML_TYPES, TYPE_NAMES, .number = INODE_VIEW_DIR }, { 0 }
};

static const struct fixed_names form_rows[] = { { CLASSES, CLASS_NAMES, .number = INODE_VIEW_DIR },
						{ 1, LOSS, .number = GENERATED_LOSSES },
						{ 0 } };

static const struct fixed_names *const rows[] = {
	[FAMILY_MODELS] = models_rows, [FAMILY_ROOT] = root_rows,   [FAMILY_BASE] = base_rows,
	[FAMILY_VIEWS] = views_rows,   [FAMILY_TYPES] = types_rows, [FAMILY_FORM] = form_rows,
};

struct child {
	const char *name;
	uint64_t ino; /* of a directory; 0: a file */
	enum generated_kind file;
	bool there, listed;
};

static void fill_class(const struct tree *tree, const struct inode *directory,
		       enum organ_class klass, struct child *child)
{
	struct model *model = directory->model;
	const bool adapters = directory->family == FAMILY_ROOT && klass == CLASS_ADAPTERS;

	child->name = class_name(klass);
	child->listed = klass <= CLASS_NORM || model_class_count(model, klass) ||
			(adapters && adapters_any(model));
	/* Adapters can be added to a model without any. */
	child->there = child->listed || (adapters && tree_can_graft(tree, model));
	if (directory->family == FAMILY_FORM)
		child->ino = inode_of_view_class_dir(model, directory->part, klass);
}

/* The file .merge exists only while a merge is in force. */
static bool has_merge(struct model *model)
{
	struct merge_state *state = merge_force_get(model);

	merge_state_unref(state);
	return state;
}

/* Get name number i. False: there are not so many. */
static bool child_of(const struct tree *tree, const struct inode *directory, uint64_t i,
		     struct child *child)
{
	struct model *model = directory->model;
	const struct fixed_names *row = rows[directory->family];
	enum organ_view form;

	while (row->n && i >= row->n)
		i -= row++->n;
	if (row->n == 0)
		return false;
	*child = (struct child){ .name = row->name,
				 .there = true,
				 .listed = !row->unlisted || tree->list_views };
	if (row->kind == LOSS && directory->part <= ORGAN_VIEW_TYPES)
		return false;
	if (row->kind == LOSS)
		i = organ_view_type_number(directory->part);
	if (row->kind == FILES || row->kind == LOSS) {
		child->file = row->number + (unsigned)i;
		child->name = generated_name(child->file);
		if (child->file == GENERATED_MERGE)
			child->there = has_merge(directory->model);
		child->listed &= child->there;
	} else if (row->kind == FORMS) {
		child->name = organ_view_name((enum organ_view)i);
		child->ino = inode_of_view_dir(model, (uint32_t)i);
	} else if (row->kind == TYPES) {
		child->name = TYPES_NAME;
		child->ino = inode_of_view_dir(model, ORGAN_VIEW_TYPES);
	} else if (row->kind == TYPE_NAMES) {
		if (!organ_view_of_type(i, &form))
			return false;
		child->name = organ_view_name(form) + strlen(TYPES_NAME "/");
		child->ino = inode_of_view_dir(model, form);
	} else {
		child->ino = inode_of_directory(model, row->number,
						row->kind == DIFFS    ? INODE_DIFFS
						: row->kind == BLOCKS ? INODE_BLOCKS
						: row->kind == SHARDS ? INODE_SHARDS
								      : i);
		if (row->kind == CLASS_NAMES)
			fill_class(tree, directory, (enum organ_class)i, child);
		if (row->kind == BLOCKS)
			child->there = block_next(model, 0) >= 0 || block_count_of_base(model);
		child->listed &= child->there;
	}
	return true;
}

static bool find_child(const struct tree *tree, const struct inode *directory, const char *name,
		       struct child *child)
{
	for (uint64_t i = 0; child_of(tree, directory, i, child); i++)
		if (child->there && strcmp(name, child->name) == 0)
			return true;
	return false;
}

static struct inode *directory_lookup(const struct tree *tree, const struct inode *directory,
				      const char *name, int *rc)
{
	struct inode *inode = NULL;
	struct child child;

	if (directory->family == FAMILY_ROOT && adapters_is_importance(name))
		inode = tree_find_adapter(tree, directory, name, rc);
	if (inode)
		return inode;
	if (!find_child(tree, directory, name, &child))
		scratch_files_find(tree->scratches, directory->ino, name, &inode);
	else if (child.ino)
		inode = inodes_get(tree->inodes, child.ino);
	else
		inode = generated_inode(tree_generated(tree, directory), child.file, rc);
	return inode;
}

static bool directory_may_block(const struct tree *tree, const struct inode *directory,
				const char *name)
{
	struct child child;

	return find_child(tree, directory, name, &child) && !child.ino &&
	       generated_may_block(tree_generated(tree, directory), child.file);
}

static bool directory_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			   struct listed *entry)
{
	struct child child;
	bool more;

	while ((more = child_of(tree, directory, *place, &child)) && !child.listed)
		++*place;
	if (!more)
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s", child.name);
	entry->type = child.ino ? S_IFDIR : S_IFREG;
	entry->ino =
		child.ino ? child.ino : generated_ino(tree_generated(tree, directory), child.file);
	return true;
}

static struct inode *models_lookup(const struct tree *tree, const struct inode *directory,
				   const char *name, int *rc)
{
	struct model *model = models_root_find(tree->overview, name);

	return model ? inodes_get(tree->inodes, inodes_root_ino(tree->inodes, model))
		     : directory_lookup(tree, directory, name, rc);
}

static bool models_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			struct listed *entry)
{
	const struct model *model;
	uint64_t left = *place - tree->n_models;

	if (*place >= tree->n_models)
		return directory_list(tree, directory, &left, entry);
	model = tree->model_files[*place].model;
	snprintf(entry->name, sizeof(entry->name), "%s", model->shown);
	entry->ino = inodes_root_ino(tree->inodes, model);
	entry->type = S_IFDIR;
	return true;
}

static const char *models_advice(const char *name)
{
	(void)name;
	return "only the directories of models belong here; put organs, adapters and "
	       "metadata into those";
}

const struct family family_models = {
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.root = true,
	.lookup = models_lookup,
	.list = models_list,
	.advice = models_advice,
};

static bool ends_with(const char *name, const char *ending)
{
	const size_t n = strlen(name), m = strlen(ending);

	return n > m && strcmp(name + n - m, ending) == 0;
}

static const char *root_advice(const char *name)
{
	if (strcmp(name, ADAPTERS_IMPORTANCE) == 0)
		return "link an importance matrix: ln -s /PATH/TO/FILE .imatrix";
	if (ends_with(name, ".gguf"))
		return "link an adapter (LoRA) in adapters: ln -s /PATH/TO/FILE adapters/; mount a "
		       "donor elsewhere: organfs FILE DIRECTORY";
	if (ends_with(name, ".bin") || ends_with(name, ".npy"))
		return "put an organ into the directory of its class: skeleton, organs, embed or "
		       "norm";
	return "put organs into the directories of their classes, values into metadata, and other "
	       "files beside the mount";
}

static struct inode *root_create(const struct tree *tree, const struct inode *directory)
{
	struct inode made = { .ino = inode_new(directory->model),
			      .family = FAMILY_MERGE,
			      .index = GENERATED_MERGE,
			      .model = directory->model };

	clock_gettime(CLOCK_REALTIME, &made.mtime);
	made.view = view_new(NULL, 0, NULL);
	return made.view ? inodes_add(tree->inodes, &made) : NULL;
}

/* The root takes only the link to the importance matrix, under its name or ln's temporary one. */
static int root_check_link(const struct tree *tree, const struct inode *directory, const char *name)
{
	(void)tree;
	if (tree_is_adapter_name(directory->ino, name) || temporary_name_of_ln(name))
		return 0;
	log_add(directory->model->log, "%s: refused: no link can be made here; %s", name,
		root_advice(name));
	return -EPERM;
}

const struct family family_root = {
	.mode = S_IFDIR | 0777,
	.directories = 1 + CLASSES,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.root = true,
	.lookup = directory_lookup,
	.may_block = directory_may_block,
	.list = directory_list,
	.creates = ".merge",
	.create = root_create,
	.takes_links = true,
	.check_link = root_check_link,
	.advice = root_advice,
};

const struct family family_base = {
	.path = ".base",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.lookup = directory_lookup,
	.list = directory_list,
};

const struct family family_views = {
	.path = ".views",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.lookup = directory_lookup,
	.may_block = directory_may_block,
	.list = directory_list,
};

const struct family family_types = {
	.path = ".views/types",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.lookup = directory_lookup,
	.list = directory_list,
};

const struct family family_form = {
	.path = ".views/F",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.lookup = directory_lookup,
	.may_block = directory_may_block,
	.list = directory_list,
};

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
	.path = ".base/C",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.lookup = base_class_lookup,
	.list = base_class_list,
};
