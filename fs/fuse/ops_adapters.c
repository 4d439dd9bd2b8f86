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

struct node *ops_find_adapter(struct fs *fs, const struct node *directory, const char *name,
			      int *rc)
{
	struct model *model = directory->model;
	struct node made = { .kind = NODE_ADAPTER, .model = model };
	struct adapter_shown shown;

	if (!adapters_look_up(model, name, &shown))
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
	return nodes_add(fs->nodes, &made);
}

struct node *ops_stage_setting(struct fs *fs, const struct node *setting)
{
	struct model *model = setting->model;
	struct node made = { .ino = inode_new(model),
			     .kind = NODE_SETTING_STAGE,
			     .index = setting->index,
			     .model = model };

	made.stage = stage_new(model->layer, setting->view);
	return made.stage ? nodes_add(fs->nodes, &made) : NULL;
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

static ssize_t remove_adapter(struct later *later)
{
	char name[NAME_MAX + 1];

	adapters_name(later->node->model, later->node->index, name);
	return adapt_remove(later->node->model, name);
}

static void reply_removed(struct later *later, ssize_t result)
{
	nodes_put(fs_of(later->req)->nodes, later->node);
	fuse_reply_err(later->req, (int)-result);
}

void ops_remove_adapter(fuse_req_t req, struct node *node)
{
	struct fs *fs = fs_of(req);
	struct later *later = later_new(req, 0);

	if (!later) {
		nodes_put(fs->nodes, node);
		return;
	}
	later->act = remove_adapter;
	later->reply = reply_removed;
	later->node = node;
	later_submit(later, fs->commits);
}
