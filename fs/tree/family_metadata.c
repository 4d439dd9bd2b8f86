/* SPDX-License-Identifier: MIT */
/* family_metadata.c - the directories of keys: metadata, and that of .base. */
#include "fs/edit/metadata_edit.h"
#include "fs/metadata/key_filename.h"
#include "fs/model/inode.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the model has comes before what a process writes under that name. */
static struct inode *metadata_lookup(const struct tree *tree, const struct inode *directory,
				     const char *name, int *rc)
{
	struct model *model = directory->model;
	struct inode *inode = NULL;
	uint32_t i;

	if (metadata_find(model->metadata, name, &i))
		inode = inodes_key(tree->inodes, model, i, rc);
	if (!inode)
		scratch_files_find(tree->scratches, directory->ino, name, &inode);
	return inode;
}

static struct inode *base_lookup(const struct tree *tree, const struct inode *directory,
				 const char *name, int *rc)
{
	struct model *model = directory->model;
	uint32_t i;

	(void)rc;
	if (!metadata_find(model->metadata, name, &i) || i >= model->gguf->n_kv)
		return NULL;
	return inodes_get(tree->inodes, inode_of(model->number, INODE_BASE_KEY, i));
}

static bool is_far(struct metadata_entry *metadatum)
{
	const bool far = metadatum && !metadata_entry_is_size_known(metadatum);

	metadata_entry_unref(metadatum);
	return far;
}

static bool metadata_may_block(const struct tree *tree, const struct inode *directory,
			       const char *name)
{
	struct metadata *metadata = directory->model->metadata;
	uint32_t i;
	int rc;

	(void)tree;
	return metadata_find(metadata, name, &i) && is_far(metadata_get(metadata, i, &rc));
}

static bool base_may_block(const struct tree *tree, const struct inode *directory, const char *name)
{
	struct metadata *metadata = directory->model->metadata;
	uint32_t i;
	int rc;

	(void)tree;
	return metadata_find(metadata, name, &i) && i < directory->model->gguf->n_kv &&
	       is_far(metadata_get_base(metadata, i, &rc));
}

/* The key at that place or the next one that has a value. */
static bool list_keys(struct model *model, bool base, uint32_t n, uint64_t *place,
		      struct listed *entry)
{
	entry->type = S_IFREG;
	for (; *place < n; ++*place) {
		const uint32_t i = (uint32_t)*place;
		int rc;
		struct metadata_entry *metadatum = base ? metadata_get_base(model->metadata, i, &rc)
							: metadata_get(model->metadata, i, &rc);

		if (!metadatum)
			continue;
		snprintf(entry->name, sizeof(entry->name), "%s",
			 metadata_key(model->metadata, i).name);
		entry->ino = inode_of(model->number, base ? INODE_BASE_KEY : INODE_KEY, i);
		metadata_entry_unref(metadatum);
		return true;
	}
	return false;
}

/* Does a key of that name come earlier in the listing? */
static bool is_listed(const struct inode *directory, const char *name)
{
	struct model *model = directory->model;
	uint32_t i;

	return metadata_find(model->metadata, name, &i) &&
	       metadata_edit_get_type(model, i, &(struct value_type){ 0 });
}

static bool metadata_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			  struct listed *entry)
{
	struct model *model = directory->model;

	return list_keys(model, false, metadata_count(model->metadata), place, entry) ||
	       tree_list_scratch(tree, directory, is_listed, place, entry);
}

static bool base_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
		      struct listed *entry)
{
	struct model *model = directory->model;

	(void)tree;
	return list_keys(model, true, model->gguf->n_kv, place, entry);
}

static int metadata_check_name(const struct inode *directory, const char *name)
{
	char key[KEY_FILENAME_MAX + 1];
	const size_t n = key_filename_decode(name, key);

	if (!n || !metadata_is_fixed(key, n))
		return 0;
	log_add(directory->model->log,
		METADATA_DIRECTORY
		"%s: refused: the key belongs to the container and cannot be changed",
		name);
	return -EPERM;
}

static unsigned metadata_time_number(const struct inode *directory)
{
	(void)directory;
	return MODEL_METADATA;
}

static const char *metadata_title(const struct inode *directory)
{
	(void)directory;
	return "metadata";
}

const struct family family_metadata = {
	.mode = S_IFDIR | 0777,
	.nlink = 2,
	.name = NAME_FOREVER,
	.grafts = true,
	.lookup = metadata_lookup,
	.may_block = metadata_may_block,
	.list = metadata_list,
	.parent = tree_parent_root,
	.check_name = metadata_check_name,
	.time_number = metadata_time_number,
	.title = metadata_title,
};

const struct family family_base_metadata = {
	.mode = S_IFDIR | 0555,
	.nlink = 2,
	.name = NAME_FOREVER,
	.lookup = base_lookup,
	.may_block = base_may_block,
	.list = base_list,
	.parent = tree_parent_base,
};
