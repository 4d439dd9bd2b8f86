/* SPDX-License-Identifier: MIT */
/* ops_symlink.c - symbolic links: of a slot, which then holds what the path leads to, and such as
 * programs make beside one to rename them. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/fuse/ops_async.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A link that is not followed here, of that user. NULL: out of memory. */
static struct content *plain_link(const char *target, const struct fuse_ctx *caller)
{
	const struct organ nothing = { .name = "" };
	struct backing *gone = backing_new_missing(target, 0);
	struct content *content = gone ? content_new_link(0, &nothing, gone, 0, target) : NULL;

	backing_unref(gone);
	if (content)
		content_set_owner(content, caller->uid, caller->gid);
	return content;
}

static void make_plain(fuse_req_t req, const struct inode *directory, const char *name,
		       const char *target)
{
	struct mount *fs = mount_of(req);
	struct content *content = plain_link(target, fuse_req_ctx(req));
	struct inode *inode = NULL;
	int rc = -ENOMEM;

	if (content)
		inode = tree_make_link(&fs->tree, directory, name, content, &rc);
	if (inode)
		ops_reply_entry(req, inode);
	else
		fuse_reply_err(req, -rc);
	inodes_put(fs->inodes, inode);
}

struct linking {
	uint64_t directory;
	size_t target; /* in the text that follows: where the target begins */
	char text[];   /* the slot's name, and the target */
};

static struct linking *linking_of(struct async_request *async)
{
	return (struct linking *)(void *)async->text;
}

static ssize_t fill_slot(struct async_request *async)
{
	const struct linking *linking = linking_of(async);
	const struct fuse_ctx *caller = fuse_req_ctx(async->req);
	char name[NAME_MAX + 1];

	if (tree_is_adapter_name(async->inode->ino, linking->text))
		return adapter_edit_link(async->inode->model, linking->text,
					 linking->text + linking->target, caller->uid, caller->gid);
	snprintf(name, sizeof(name), "%.*s", (int)tree_slot_name(linking->text), linking->text);
	return graft_symlink(async->inode->model, (enum organ_class)async->inode->index, name,
			     linking->text + linking->target, caller->uid, caller->gid);
}

static void reply_linked(struct async_request *async, ssize_t result)
{
	struct mount *fs = mount_of(async->req);
	struct inode *inode = NULL;
	int rc = (int)result;

	if (rc == 0)
		inode = tree_find(&fs->tree, async->inode, linking_of(async)->text, &rc);
	inodes_put(fs->inodes, async->inode);
	if (inode)
		ops_reply_entry(async->req, inode);
	else
		fuse_reply_err(async->req, -rc);
	inodes_put(fs->inodes, inode);
}

/* Where the path leads may take long to find out. */
static void fill_async(fuse_req_t req, struct inode *directory, const char *name,
		       const char *target)
{
	struct mount *fs = mount_of(req);
	const size_t n = strlen(name) + 1, m = strlen(target) + 1;
	struct async_request *async =
		async_new_on(req, directory, sizeof(struct linking) + n + m, fill_slot);
	struct linking *linking;

	if (!async)
		return;
	linking = linking_of(async);
	linking->target = n;
	memcpy(linking->text, name, n);
	memcpy(linking->text + n, target, m);
	async->reply = reply_linked;
	async_submit(async, fs->link_lookups);
}

/* May a link of that name be made? */
static int check_name(struct mount *fs, const struct inode *directory, const char *name)
{
	struct inode *inode;
	int rc;

	if (ops_is_desktop_file(name))
		return -EPERM;
	inode = tree_find(&fs->tree, directory, name, &rc);
	inodes_put(fs->inodes, inode);
	return inode ? -EEXIST : rc == -ENOENT ? 0 : rc;
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);

	if (!directory)
		rc = ops_refuse(fs, parent, name, REFUSED_LINK);
	else
		rc = family_of(directory)->takes_links ? check_name(fs, directory, name) : -EPERM;
	if (directory && rc == 0 &&
	    (tree_slot_name(name) || tree_is_adapter_name(directory->ino, name))) {
		fill_async(req, directory, name, target);
		return;
	}
	if (directory && rc == 0)
		make_plain(req, directory, name, target);
	else
		fuse_reply_err(req, -rc);
	inodes_put(fs->inodes, directory);
}
