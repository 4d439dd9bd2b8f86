/* SPDX-License-Identifier: MIT */
/* family_organ.c - organs: files, or links; those of the base; what is written over one. */
#include "fs/edit/graft.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <stdio.h>

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

uint64_t family_organ_number(const struct inode *inode)
{
	return inode_of(inode->model->number, INODE_ORGAN, inode->index);
}

void family_organ_name(const struct tree *tree, const struct inode *inode,
		       char text[STAGED_NAME_MAX])
{
	char path[ORGAN_PATH_MAX];

	(void)tree;
	snprintf(text, STAGED_NAME_MAX, "%s", model_organ_path(inode->model, inode->index, path));
}

/* What adapters make of it is not written to: they would be merged twice. */
static struct inode *organ_stage(const struct tree *tree, const struct inode *organ)
{
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
		"%s: truncated by name, an organ would be none any more; "
		"the slot keeps what it had",
		model_organ_path(inode->model, inode->index, path));
	return -EINVAL;
}

static int organ_remove(const struct inode *inode)
{
	return graft_remove(inode->model, inode->index);
}

static int organ_commit(const struct tree *tree, struct inode *inode)
{
	(void)tree;
	return graft_fill(inode->model, inode->index, inode->stage);
}

static void stage_released(const struct inode *inode)
{
	char path[ORGAN_PATH_MAX];

	if (stage_size(inode->stage) == 0)
		log_add(inode->model->log,
			"%s: emptied and closed again, which is no graft; "
			"the slot keeps what it had",
			model_organ_path(inode->model, inode->index, path));
}

const struct family family_organ = {
	.mode = S_IFREG | 0666,
	.slot = true,
	.is_organ = true,
	.attributes = family_organ_attributes,
	.size = organ_size,
	.open = organ_open,
	.number = family_organ_number,
	.stage = organ_stage,
	.truncate = organ_truncate,
	.remove = organ_remove,
	.attribute = family_organ_attribute,
	.organ = organ_of,
};

const struct family family_link = {
	.mode = S_IFLNK | 0777,
	.slot = true,
	.size = family_target_size,
	.remove = organ_remove,
};

const struct family family_base_organ = {
	.mode = S_IFREG | 0444,
	.name = NAME_IN_WHOLE,
	.is_organ = true,
	.attributes = family_organ_attributes,
	.size = organ_size,
	.open = organ_open,
	.attribute = family_organ_attribute,
	.organ = organ_of,
};

const struct family family_stage = {
	.mode = S_IFREG | 0666,
	.attributes = family_organ_attributes,
	.size = family_stage_size,
	.number = family_organ_number,
	.truncate = family_truncate_stage,
	.commit = organ_commit,
	.staged_name = family_organ_name,
	.released = stage_released,
	.attribute = family_organ_attribute,
	.organ = organ_of,
};
