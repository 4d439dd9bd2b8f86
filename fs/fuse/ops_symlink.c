/* SPDX-License-Identifier: MIT */
/* ops_symlink.c - symbolic links: of a slot, which then holds what the path leads to, and such as
 * programs make beside one to rename them. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/fuse/ops_async.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct node *ops_make_link(struct fs *fs, const struct node *directory, const char *name,
			   struct content *content, int *rc)
{
	const struct node made = { .ino = inode_new(directory->model),
				   .kind = NODE_SCRATCH_LINK,
				   .model = directory->model,
				   .content = content,
				   .mtime = content->mtime };

	return ops_add_scratch(fs, directory, name, &made, rc);
}

/* A link that nobody looks at, of that user. NULL: out of memory. */
static struct content *plain_link(const char *target, const struct fuse_ctx *caller)
{
	const struct organ nothing = { .name = "" };
	struct backing *gone = backing_gone(target, 0);
	struct content *content = gone ? content_link(0, &nothing, gone, 0, target) : NULL;

	backing_unref(gone);
	if (content)
		content_set_owner(content, caller->uid, caller->gid);
	return content;
}

static void make_plain(fuse_req_t req, const struct node *directory, const char *name,
		       const char *target)
{
	struct fs *fs = fs_of(req);
	struct content *content = plain_link(target, fuse_req_ctx(req));
	struct node *node = NULL;
	int rc = -ENOMEM;

	if (content)
		node = ops_make_link(fs, directory, name, content, &rc);
	if (node)
		ops_reply_entry(req, node);
	else
		fuse_reply_err(req, -rc);
	nodes_put(fs->nodes, node);
}

struct linking {
	uint64_t directory;
	size_t target; /* in the text that follows: where the target begins */
	char text[];   /* the slot's name, and the target */
};

static struct linking *linking_of(struct later *later)
{
	return (struct linking *)(void *)later->text;
}

static ssize_t fill_slot(struct later *later)
{
	const struct linking *linking = linking_of(later);
	const struct fuse_ctx *caller = fuse_req_ctx(later->req);
	char name[NAME_MAX + 1];

	if (ops_is_adapter_name(later->node->ino, linking->text))
		return adapt_link(later->node->model, linking->text,
				  linking->text + linking->target, caller->uid, caller->gid);
	snprintf(name, sizeof(name), "%.*s", (int)ops_slot_name(linking->text), linking->text);
	return graft_symlink(later->node->model, (enum organ_class)later->node->index, name,
			     linking->text + linking->target, caller->uid, caller->gid);
}

static void reply_linked(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);
	struct node *node = NULL;
	int rc = (int)result;

	if (rc == 0)
		node = ops_find(fs, later->node, linking_of(later)->text, &rc);
	nodes_put(fs->nodes, later->node);
	if (node)
		ops_reply_entry(later->req, node);
	else
		fuse_reply_err(later->req, -rc);
	nodes_put(fs->nodes, node);
}

/* Where the path leads may take long to find out. */
static void fill_later(fuse_req_t req, struct node *directory, const char *name, const char *target)
{
	struct fs *fs = fs_of(req);
	const size_t n = strlen(name) + 1, m = strlen(target) + 1;
	struct later *later = later_on(req, directory, sizeof(struct linking) + n + m, fill_slot);
	struct linking *linking;

	if (!later)
		return;
	linking = linking_of(later);
	linking->target = n;
	memcpy(linking->text, name, n);
	memcpy(linking->text + n, target, m);
	later->reply = reply_linked;
	later_submit(later, fs->lookers);
}

/* May a link of that name be made? */
static int check_name(struct fs *fs, const struct node *directory, const char *name)
{
	struct node *node;
	int rc;

	if (ops_is_dropping(name))
		return -EPERM;
	node = ops_find(fs, directory, name, &rc);
	nodes_put(fs->nodes, node);
	return node ? -EEXIST : rc == -ENOENT ? 0 : rc;
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct node *directory = ops_editable(fs, parent, &rc);

	if (!directory)
		rc = ops_refuse(fs, parent, name, REFUSED_LINK);
	else
		rc = directory->kind == NODE_METADATA ? -EPERM : check_name(fs, directory, name);
	if (directory && rc == 0 &&
	    (ops_slot_name(name) || ops_is_adapter_name(directory->ino, name))) {
		fill_later(req, directory, name, target);
		return;
	}
	if (directory && rc == 0)
		make_plain(req, directory, name, target);
	else
		fuse_reply_err(req, -rc);
	nodes_put(fs->nodes, directory);
}
