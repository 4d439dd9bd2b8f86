/* SPDX-License-Identifier: MIT */
/* families.c - the table of families, functions that several families share, and names. */
#include "fs/edit/stage.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <string.h>

#define FAMILY_LINE(NUMBER, name) [FAMILY_##NUMBER] = &family_##name,
const struct family *const families[] = { FAMILIES(FAMILY_LINE) };

uint64_t family_shown_number(const struct inode *inode)
{
	const struct family *family = family_of(inode);

	return family->shows_slot ? family->number(inode) : inode->ino;
}

uint64_t family_size(const struct inode *inode)
{
	const struct family *family = family_of(inode);

	if (family->size)
		return family->size(inode);
	if (S_ISLNK(family->mode))
		return strlen(inode->content->target);
	if (inode->stage)
		return stage_shown(inode->stage).size;
	return inode->view ? view_size(inode->view) : 0;
}

int family_truncate(struct inode *inode, uint64_t size)
{
	const struct family *family = family_of(inode);

	if (family->truncate)
		return family->truncate(inode, size);
	if (inode->stage)
		return stage_truncate(inode->stage, size);
	return family->write == WRITE_REFUSED ? -EACCES : 0;
}

struct inode *tree_find(const struct tree *tree, const struct inode *directory, const char *name,
			int *rc)
{
	const struct family *family = family_of(directory);

	*rc = -ENOENT;
	return family->lookup ? family->lookup(tree, directory, name, rc) : NULL;
}

struct inode *tree_make_stage(const struct tree *tree, enum family_number family,
			      const struct inode *over, struct view *view)
{
	struct model *model = over->model;
	struct inode made = { .ino = inode_new(model),
			      .family = family,
			      .index = over->index,
			      .part = over->part,
			      .model = model };

	if (view)
		made.stage = stage_new(model->layer, view);
	if (made.stage)
		stage_set_brief(made.stage);
	view_unref(view);
	return made.stage ? inodes_add(tree->inodes, &made) : NULL;
}

size_t tree_slot_name(const char *name)
{
	const size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".bin") == 0 ? n - 4 : 0;
}

bool tree_is_adapter_name(uint64_t directory, const char *name)
{
	enum adapter_file kind;
	size_t length;

	if (!adapters_parse(name, &kind, &length))
		return false;
	return adapters_is_importance(name) ? inode_kind(directory) != INODE_CLASS
					    : inode_kind(directory) == INODE_CLASS &&
						      inode_index(directory) == CLASS_ADAPTERS;
}

bool tree_is_metadata(uint64_t ino)
{
	return inode_kind(ino) == INODE_METADATA;
}

const char *tree_title(uint64_t ino)
{
	return tree_is_metadata(ino) ? "metadata" : class_name((enum organ_class)inode_index(ino));
}

unsigned tree_time_number(uint64_t ino)
{
	return tree_is_metadata(ino) ? MODEL_METADATA : (unsigned)inode_index(ino);
}

static bool is_key_name(const struct model *model, const char *name)
{
	char key[KEY_FILENAME_MAX + 1];
	uint32_t i;

	return metadata_find(model->metadata, name, &i) || key_filename_decode(name, key);
}

bool tree_is_named(const struct model *model, uint64_t directory, const char *name)
{
	if (tree_is_metadata(directory))
		return is_key_name(model, name);
	return tree_slot_name(name) != 0 || tree_is_adapter_name(directory, name);
}
