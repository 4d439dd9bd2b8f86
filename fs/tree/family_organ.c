/* SPDX-License-Identifier: MIT */
/* family_organ.c - organs: files and links of slots, files of the base; the bytes written over
 * one. */
#include "fs/edit/graft.h"
#include "fs/edit/stage.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/model/removal.h"
#include "fs/storage/backing.h"
#include "fs/tree/family.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t organ_size(const struct inode *inode)
{
	return organ_file_size(inode->model, inode->index, inode->content);
}

static struct view *organ_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	(void)tree;
	*rc = -ENOMEM;
	return organ_file_view(inode->model, inode->index, inode->content);
}

static struct organ organ_of(const struct inode *inode)
{
	return model_organ(inode->model, inode->index, inode->content);
}

struct organ_location tree_locate(const struct inode *inode)
{
	return organ_file_locate(inode->model, inode->index, inode->content);
}

static uint64_t organ_number(const struct inode *inode)
{
	return inode_of(inode->model->number, INODE_ORGAN, inode->index);
}

void family_organ_name(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX])
{
	char path[ORGAN_PATH_MAX];

	(void)tree;
	snprintf(text, TITLE_MAX, "%s", model_organ_path(inode->model, inode->index, path));
}

/* Attributes user.organfs.NAME of organs and of files computed from organs. Each function writes
 * the value into text of n bytes and returns its length, or -ENODATA. */
static int text_of(char *text, size_t n, const char *value)
{
	return snprintf(text, n, "%s", value);
}

static int tensor_value(const struct inode *inode, char *text, size_t n)
{
	const struct organ_place *place = &inode->model->places[inode->index];

	/* Exact bytes, not only printable ones. */
	if (place->tensor_length <= n)
		memcpy(text, place->tensor, place->tensor_length);
	return (int)place->tensor_length;
}

static int type_value(const struct inode *inode, char *text, size_t n)
{
	char scratch[TYPE_NAME_MAX];
	const struct organ organ = family_of(inode)->organ(inode);

	return text_of(text, n, type_name(organ.type, scratch));
}

static int shape_value(const struct inode *inode, char *text, size_t n)
{
	char shape[SHAPE_TEXT_MAX];
	const struct organ organ = family_of(inode)->organ(inode);

	return text_of(text, n, shape_text(organ.ne, organ.dims, shape));
}

static int class_value(const struct inode *inode, char *text, size_t n)
{
	return text_of(text, n, class_name(inode->model->places[inode->index].klass));
}

static int block_value(const struct inode *inode, char *text, size_t n)
{
	const int32_t block = inode->model->places[inode->index].block;

	return block < 0 ? -ENODATA : snprintf(text, n, "%" PRId32, block);
}

static int extent_value(const struct inode *inode, char *text, size_t n)
{
	const struct organ organ = model_organ(inode->model, inode->index, inode->content);
	const struct content *content = inode->content;
	struct backing *file = content ? content->file : inode->model->base;
	uint64_t offset =
		content ? content->offset : inode->model->gguf->tensors[inode->index].offset;
	uint64_t length = organ.data_size;

	file = backing_file_at(file, &offset, &length);
	/* Compressed data has no extent. */
	if (!file || !backing_is_plain(file) || length != organ.data_size)
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_place(file), offset, length);
}

static int graft_value(const struct inode *inode, char *text, size_t n)
{
	return inode->content ? text_of(text, n, content_kind_name(inode->content)) : -ENODATA;
}

const char *const family_organ_attributes[] = { "tensor", "type",   "shape", "class",
						"block",  "extent", "graft", NULL };

static int organ_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	static int (*const values[])(const struct inode *inode, char *text, size_t n) = {
		tensor_value, type_value,   shape_value, class_value,
		block_value,  extent_value, graft_value,
	};

	for (size_t i = 0; family_organ_attributes[i]; i++)
		if (strcmp(name, family_organ_attributes[i]) == 0)
			return values[i](inode, text, n);
	return -ENODATA;
}

/* Files computed from an organ have no extent. */
int family_view_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	return strcmp(name, "extent") == 0 ? -ENODATA : organ_attribute(inode, name, text, n);
}

/* Write to the slot's own content: adapters would be merged twice. */
static struct inode *organ_stage(const struct tree *tree, const struct inode *organ)
{
	removal_keep(organ->model, NULL);
	return tree_make_stage(tree, FAMILY_STAGE, organ,
			       organ_file_view(organ->model, organ->index,
					       content_own(organ->content)));
}

static int organ_truncate(struct inode *inode, uint64_t size)
{
	char path[ORGAN_PATH_MAX];

	if (size == organ_size(inode))
		return 0;
	log_add(inode->model->log,
		"%s: cannot truncate by name: the rest would be no organ; "
		"the slot keeps its content",
		model_organ_path(inode->model, inode->index, path));
	return -EINVAL;
}

static int organ_remove(const struct inode *inode, pid_t process)
{
	return graft_unlink(inode->model, inode->index, process);
}

static int organ_commit(const struct tree *tree, struct inode *inode)
{
	(void)tree;
	return graft_fill(inode->model, inode->index, inode->stage);
}

static void stage_released(const struct inode *inode)
{
	char path[ORGAN_PATH_MAX];

	if (stage_shown(inode->stage).size == 0 && !stage_failed(inode->stage))
		log_add(inode->model->log,
			"%s: truncated and closed without data, which is no graft; "
			"the slot keeps its content",
			model_organ_path(inode->model, inode->index, path));
}

const struct family family_organ = {
	.title = family_organ_name,
	.mode = S_IFREG | 0666,
	.slot = true,
	.in_block = true,
	.is_organ = true,
	.attributes = family_organ_attributes,
	.size = organ_size,
	.open = organ_open,
	.number = organ_number,
	.stage = organ_stage,
	.truncate = organ_truncate,
	.remove = organ_remove,
	.attribute = organ_attribute,
	.organ = organ_of,
};

const struct family family_link = {
	.title = family_organ_name,
	.mode = S_IFLNK | 0777,
	.slot = true,
	.in_block = true,
	.remove = organ_remove,
};

const struct family family_base_organ = {
	.mode = S_IFREG | 0444,
	.lifetime = NAME_IN_WHOLE,
	.is_organ = true,
	.attributes = family_organ_attributes,
	.size = organ_size,
	.open = organ_open,
	.attribute = organ_attribute,
	.organ = organ_of,
};

const struct family family_stage = {
	.mode = S_IFREG | 0666,
	.attributes = family_organ_attributes,
	.number = organ_number,
	.commit = organ_commit,
	.title = family_organ_name,
	.released = stage_released,
	.attribute = organ_attribute,
	.organ = organ_of,
};
