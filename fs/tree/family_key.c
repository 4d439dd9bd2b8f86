/* SPDX-License-Identifier: MIT */
/* family_key.c - files in metadata: the values of keys (key_filename.h), and the bytes written over
 * one. */
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/metadata/metadata.h"
#include "fs/model/inode.h"
#include "fs/tree/family.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint64_t key_number(const struct inode *inode)
{
	return inode_of(inode->model->number, INODE_KEY, inode->index);
}

static uint64_t key_size(const struct inode *inode)
{
	struct metadata_entry *metadatum = inodes_metadatum(inode);
	uint64_t size = 0;

	/* An unreadable value has size 0; its open() fails. */
	if (metadatum)
		metadata_entry_size(metadatum, &size);
	metadata_entry_unref(metadatum);
	return size;
}

static bool key_is_fixed(const struct inode *inode)
{
	return inode->family == FAMILY_BASE_KEY ||
	       metadata_key(inode->model->metadata, inode->index).fixed;
}

static struct view *key_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	struct metadata_entry *metadatum = inodes_metadatum(inode);
	struct view *view;

	(void)tree;
	*rc = -ENOMEM;
	view = metadatum ? metadata_entry_view(metadatum, rc) : NULL;
	metadata_entry_unref(metadatum);
	return view;
}

static struct inode *key_stage(const struct tree *tree, const struct inode *key)
{
	int rc;

	return tree_make_stage(tree, FAMILY_KEY_STAGE, key, key_open(tree, key, &rc));
}

static int key_truncate(struct inode *inode, uint64_t size)
{
	const struct metadata_key key = metadata_key(inode->model->metadata, inode->index);

	if (size == key_size(inode))
		return 0;
	log_add(inode->model->log, "metadata/%s: cannot truncate by name; the key keeps its value",
		key.name);
	return key.fixed ? -EACCES : -EINVAL;
}

static int key_remove(const struct inode *inode, pid_t process)
{
	(void)process;
	return metadata_edit_remove(inode->model, inode->index);
}

static bool key_type(const struct inode *inode, struct value_type *type)
{
	struct metadata_entry *metadatum = inodes_metadatum(inode);

	if (metadatum)
		*type = metadata_entry_value(metadatum)->type;
	metadata_entry_unref(metadatum);
	return metadatum != NULL;
}

/* A type set for the stage goes before the key's. */
static bool key_stage_type(const struct inode *inode, struct value_type *type)
{
	const struct stage_shown shown = stage_shown(inode->stage);

	*type = shown.type;
	return shown.typed == STAGE_WANTED ||
	       metadata_type(inode->model->metadata, inode->index, type);
}

static bool key_stage_is_emptied(const struct inode *inode)
{
	struct value_type type;

	return stage_shown(inode->stage).size == 0 && !stage_written(inode->stage) &&
	       key_stage_type(inode, &type) && type.type == KV_STRING;
}

static int key_stage_judge(const struct inode *inode, const char *lines, size_t n)
{
	struct value_type type;

	if (!key_stage_type(inode, &type) || type.type == KV_STRING || type.type == KV_ARRAY)
		return 0;
	return metadata_edit_judge(inode->model, inode->index, type, lines, n);
}

static int key_stage_commit(const struct tree *tree, struct inode *inode)
{
	struct model *model = inode->model;

	(void)tree;
	return metadata_edit_fill(model, metadata_key(model->metadata, inode->index).name,
				  inode->stage);
}

static void key_title(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX])
{
	(void)tree;
	snprintf(text, TITLE_MAX, METADATA_DIRECTORY "%s",
		 metadata_key(inode->model->metadata, inode->index).name);
}

static int key_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	char type_text[VALUE_TYPE_TEXT];
	struct metadata_key key;
	struct value_type type;

	if (strcmp(name, "type") == 0 && family_of(inode)->type(inode, &type))
		return snprintf(text, n, "%s", value_type_text(type, type_text));
	if (strcmp(name, "graft") == 0 && inode->metadatum)
		return snprintf(text, n, "%s",
				inode->index < inode->model->gguf->n_kv ? "edited" : "added");
	if (strcmp(name, "key") != 0)
		return -ENODATA;
	key = metadata_key(inode->model->metadata, inode->index);
	/* Exact bytes, not only printable ones. */
	if (key.length <= n)
		memcpy(text, key.key, key.length);
	return (int)key.length;
}

/* rsync removes listed attributes that the source lacks, so only those of every key are listed. */
static const char *const attributes[] = { "type", "key", NULL };

const struct family family_key = {
	.title = key_title,
	.mode = S_IFREG | 0666,
	.shows_slot = true,
	.attributes = attributes,
	.size = key_size,
	.open = key_open,
	.is_fixed = key_is_fixed,
	.number = key_number,
	.stage = key_stage,
	.truncate = key_truncate,
	.remove = key_remove,
	.attribute = key_attribute,
	.type = key_type,
};

const struct family family_base_key = {
	.mode = S_IFREG | 0666,
	.lifetime = NAME_IN_WHOLE,
	.attributes = attributes,
	.size = key_size,
	.open = key_open,
	.is_fixed = key_is_fixed,
	.attribute = key_attribute,
	.type = key_type,
};

const struct family family_key_stage = {
	.title = key_title,
	.mode = S_IFREG | 0666,
	.shows_slot = true,
	.attributes = attributes,
	.number = key_number,
	.judge = key_stage_judge,
	.commit = key_stage_commit,
	.is_emptied = key_stage_is_emptied,
	.attribute = key_attribute,
	.type = key_stage_type,
};
