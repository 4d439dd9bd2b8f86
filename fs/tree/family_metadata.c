/* SPDX-License-Identifier: MIT */
/* family_metadata.c - the directories of keys: metadata and .base/metadata. */
#include "fs/assemble/block_metadata.h"
#include "fs/edit/metadata_edit.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/metadata.h"
#include "fs/model/inode.h"
#include "fs/tree/family.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <stdio.h>

static bool is_base(const struct inode *directory)
{
	return directory->family == FAMILY_BASE_METADATA;
}

static uint32_t count_keys(const struct inode *directory)
{
	return is_base(directory) ? directory->model->gguf->n_kv
				  : metadata_count(directory->model->metadata);
}

static struct metadata_entry *get_value(const struct inode *directory, uint32_t i)
{
	int rc;

	return metadata_get_as(directory->model->metadata,
			       is_base(directory) ? METADATA_OF_BASE : METADATA_NOW, i, &rc);
}

static bool find_key(const struct inode *directory, const char *name, uint32_t *i)
{
	return metadata_find(directory->model->metadata, name, i) && *i < count_keys(directory);
}

/* The model's keys hide a process's scratch file of the same name. */
static struct inode *metadata_lookup(const struct tree *tree, const struct inode *directory,
				     const char *name, int *rc)
{
	struct model *model = directory->model;
	const bool base = is_base(directory);
	struct inode *inode = NULL;
	uint32_t i;

	if (!base)
		block_metadata_show(model);
	if (find_key(directory, name, &i))
		inode = base ? inodes_get(tree->inodes, inode_of(model->number, INODE_BASE_KEY, i))
			     : inodes_key(tree->inodes, model, i, rc);
	if (!inode && !base)
		scratch_files_find(tree->scratches, directory->ino, name, &inode);
	return inode;
}

static bool metadata_may_block(const struct tree *tree, const struct inode *directory,
			       const char *name)
{
	struct metadata_entry *metadatum = NULL;
	uint32_t i;
	bool far;

	(void)tree;
	if (find_key(directory, name, &i))
		metadatum = get_value(directory, i);
	far = metadatum && !metadata_entry_is_size_known(metadatum);
	metadata_entry_unref(metadatum);
	return far;
}

/* Is a key of that name listed before the scratch files? */
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
	const enum inode_kind kind = is_base(directory) ? INODE_BASE_KEY : INODE_KEY;

	entry->type = S_IFREG;
	for (; *place < count_keys(directory); ++*place) {
		const uint32_t i = (uint32_t)*place;
		struct metadata_entry *metadatum = get_value(directory, i);

		if (!metadatum)
			continue;
		snprintf(entry->name, sizeof(entry->name), "%s",
			 metadata_key(model->metadata, i).name);
		entry->ino = inode_of(model->number, kind, i);
		metadata_entry_unref(metadatum);
		return true;
	}
	return !is_base(directory) && tree_list_scratch(tree, directory, is_listed, place, entry);
}

static int metadata_check_name(const struct inode *directory, const char *name)
{
	char key[KEY_FILENAME_MAX + 1];
	const size_t n = key_filename_decode(name, key);

	if (!n || !metadata_is_fixed(key, n))
		return 0;
	log_add(directory->model->log,
		METADATA_DIRECTORY
		"%s: refused: the key describes the file itself and cannot be changed",
		name);
	return -EPERM;
}

static const char *metadata_advice(const char *name)
{
	(void)name;
	return "copy the value with cp";
}

const struct family family_metadata = {
	.path = "metadata",
	.mode = S_IFDIR | 0777,
	.lifetime = NAME_FOREVER,
	.grafts = true,
	.lookup = metadata_lookup,
	.may_block = metadata_may_block,
	.list = metadata_list,
	.check_name = metadata_check_name,
	.advice = metadata_advice,
};

const struct family family_base_metadata = {
	.path = ".base/metadata",
	.mode = S_IFDIR | 0555,
	.lifetime = NAME_FOREVER,
	.lookup = metadata_lookup,
	.may_block = metadata_may_block,
	.list = metadata_list,
};
