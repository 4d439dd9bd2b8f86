/* SPDX-License-Identifier: MIT */
/* organ_attributes.c - the attributes user.organfs.NAME of what is an organ, or made of one. */
#include "fs/tree/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each writes its value into text of n bytes and returns its length, or -ENODATA. */
static int text_of(char *text, size_t n, const char *value)
{
	return snprintf(text, n, "%s", value);
}

static int tensor_value(const struct inode *inode, char *text, size_t n)
{
	const struct organ_place *place = &inode->model->places[inode->index];

	/* Exact, whatever bytes it has. */
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
	/* What is compressed lies nowhere in one piece. */
	if (!file || !backing_is_plain(file) || length != organ.data_size)
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(file), offset, length);
}

static int graft_value(const struct inode *inode, char *text, size_t n)
{
	return inode->content ? text_of(text, n, content_kind_name(inode->content)) : -ENODATA;
}

const char *const family_organ_attributes[] = { "tensor", "type",   "shape", "class",
						"block",  "extent", "graft", NULL };

int family_organ_attribute(const struct inode *inode, const char *name, char *text, size_t n)
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

/* Of what is made of an organ, and lies in no file. */
int family_view_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	return strcmp(name, "extent") == 0 ? -ENODATA
					   : family_organ_attribute(inode, name, text, n);
}
