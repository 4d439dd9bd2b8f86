/* SPDX-License-Identifier: MIT */
/* ops_adapters.c - names in adapters that are no organs: links to adapters' files, and numbers.
 * What changes one waits for the disk and is answered by a job. */
#include "fs/edit/adapter_edit.h"
#include "fs/fuse/ops_async.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

bool ops_is_adapter_name(uint64_t directory, const char *name)
{
	enum adapter_file kind;
	size_t length;

	return inode_kind(directory) == INODE_CLASS && inode_index(directory) == CLASS_ADAPTERS &&
	       adapters_parse(name, &kind, &length);
}

struct inode *ops_find_adapter(struct mount *fs, const struct inode *directory, const char *name,
			       int *rc)
{
	struct model *model = directory->model;
	struct inode made = { .kind = NODE_ADAPTER, .model = model };
	struct adapter_attr shown;

	if (!adapters_lookup(model, name, &shown))
		return NULL;
	*rc = -ENOMEM;
	made.ino = shown.ino;
	made.index = shown.number;
	made.content = shown.link;
	made.mtime = shown.mtime;
	if (shown.kind != ADAPTER_GGUF) {
		char *text = strdup(shown.text);

		made.kind = NODE_SETTING;
		made.view = view_of_text(text, strlen(shown.text));
		if (!made.view)
			return NULL;
	}
	return inodes_add(fs->inodes, &made);
}

struct inode *ops_stage_setting(struct mount *fs, const struct inode *setting)
{
	struct model *model = setting->model;
	struct inode made = { .ino = inode_new(model),
			      .kind = NODE_SETTING_STAGE,
			      .index = setting->index,
			      .model = model };

	made.stage = stage_new(model->layer, setting->view);
	return made.stage ? inodes_add(fs->inodes, &made) : NULL;
}

int ops_check_adapter(const struct model *model, const char *name)
{
	enum adapter_file kind;
	size_t length;

	if (!adapters_parse(name, &kind, &length) || kind != ADAPTER_GGUF)
		return 0;
	log_add(model->log,
		"adapters/%s: refused: an adapter's file is linked and not copied: ln -s", name);
	return -EPERM;
}

static ssize_t remove_adapter(struct async_request *async)
{
	char name[NAME_MAX + 1];

	adapters_name(async->inode->model, async->inode->index, name);
	return adapter_edit_remove(async->inode->model, name);
}

static void reply_removed(struct async_request *async, ssize_t result)
{
	inodes_put(mount_of(async->req)->inodes, async->inode);
	fuse_reply_err(async->req, (int)-result);
}

void ops_remove_adapter(fuse_req_t req, struct inode *inode)
{
	struct mount *fs = mount_of(req);
	struct async_request *async = async_new(req, 0);

	if (!async) {
		inodes_put(fs->inodes, inode);
		return;
	}
	async->run = remove_adapter;
	async->reply = reply_removed;
	async->inode = inode;
	async_submit(async, fs->commits);
}
