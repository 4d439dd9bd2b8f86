/* SPDX-License-Identifier: MIT */
/* family_setting.c - files in adapters other than organs: links to adapters' files, and
 * settings. */
#include "fs/edit/adapter_edit.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/tree.h"

#include <stdio.h>

/* Beyond the numbers of keys. */
static uint64_t setting_number(const struct inode *inode)
{
	return inode_of(inode->model->number, INODE_KEY, (uint64_t)1 << 39 | inode->index);
}

static bool setting_is_fixed(const struct inode *inode)
{
	return !adapters_apply(inode->model);
}

static struct inode *setting_stage(const struct tree *tree, const struct inode *setting)
{
	return tree_make_stage(tree, FAMILY_SETTING_STAGE, setting, view_ref(setting->view));
}

static int adapter_remove(const struct inode *inode, pid_t process)
{
	char name[NAME_MAX + 1];

	(void)process;
	adapters_name(inode->model, inode->index, name);
	return adapter_edit_remove(inode->model, name);
}

static int setting_judge(const struct inode *inode, const char *lines, size_t n)
{
	char name[NAME_MAX + 1];

	adapters_name(inode->model, inode->index, name);
	return adapter_edit_judge(inode->model, name, lines, n);
}

static int setting_commit(const struct tree *tree, struct inode *inode)
{
	char name[NAME_MAX + 1];

	(void)tree;
	adapters_name(inode->model, inode->index, name);
	return adapter_edit_write(inode->model, name, inode->stage);
}

static void setting_title(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX])
{
	char name[NAME_MAX + 1];

	(void)tree;
	adapters_name(inode->model, inode->index, name);
	snprintf(text, TITLE_MAX, "adapters/%s", name);
}

const struct family family_adapter = {
	.mode = S_IFLNK | 0777,
	.exdev = true,
	.remove = adapter_remove,
};

const struct family family_setting = {
	.title = setting_title,
	.mode = S_IFREG | 0666,
	.exdev = true,
	.shows_slot = true,
	.is_fixed = setting_is_fixed,
	.number = setting_number,
	.stage = setting_stage,
	.remove = adapter_remove,
};

const struct family family_setting_stage = {
	.title = setting_title,
	.mode = S_IFREG | 0666,
	.shows_slot = true,
	.number = setting_number,
	.judge = setting_judge,
	.commit = setting_commit,
};
