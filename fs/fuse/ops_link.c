/* SPDX-License-Identifier: MIT */
/* ops_link.c - link() and symlink(). A symbolic link under the name of a slot fills the slot with
 * the organ at its target; programs also make links beside a slot to rename them. Filling a slot
 * waits for the disk and is answered by a job. */
#include "fs/edit/graft.h"
#include "fs/fuse/ops.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "fs/storage/backing.h"
#include "fs/tree/family.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Argument of a job: the directory of the new name, for tree_find() and the like, and the name. */
struct linking {
	struct inode directory;
	char name[NAME_MAX + 1];
};

static const struct linking *linking_of(struct async_request *async)
{
	return (const struct linking *)(const void *)async->text;
}

/* Whether the file is to become a slot or key. */
static bool is_made(struct mount *fs, const struct inode *inode)
{
	char name[NAME_MAX + 1];
	uint64_t directory;

	return scratch_files_name(fs->scratches, inode, &directory, name) &&
	       tree_is_named(inode->model, directory, name);
}

static ssize_t link_node(struct async_request *async)
{
	struct mount *fs = async->fs;
	const struct linking *linking = linking_of(async);
	const struct inode *directory = &linking->directory;
	struct inode *inode = async->inode, *made;
	const size_t n = tree_slot_name(linking->name);
	const bool adapter = tree_is_adapter_name(directory->ino, linking->name);
	char slot[NAME_MAX + 1];
	int rc;

	if (family_of(inode)->scratch) {
		if (inode->model != directory->model)
			return -EXDEV;
		/* A commit under one of the two names would not apply to the other. */
		if (is_made(fs, inode))
			return -EPERM;
		if (n || adapter)
			return tree_fill(inode, directory->ino, linking->name);
		if (tree_is_dropped(&fs->tree, directory, linking->name))
			return 0;
		rc = tree_check_private(inode, directory->ino, linking->name);
		if (rc < 0)
			return rc;
		return scratch_files_add(fs->scratches, directory->ino, linking->name, inode);
	}
	if (adapter)
		return -EPERM;
	if (n) {
		snprintf(slot, sizeof(slot), "%.*s", (int)n, linking->name);
		return graft_link(inode->model, inode->index, directory->model,
				  (enum organ_class)directory->index, slot);
	}
	made = tree_keep_as_scratch(&fs->tree, directory, linking->name, inode, &rc);
	inodes_put(fs->inodes, made);
	return rc;
}

static mode_t type_of(const struct inode *inode)
{
	return family_of(inode)->mode & S_IFMT;
}

/* The new name belongs to another inode, the slot's, if it filled a slot. Another process may have
 * removed or replaced the name since, and the kernel accepts an entry of the requested type only.
 * link() and symlink() did succeed, so the answer then is the source's inode; the kernel looks the
 * name up again at its next use. */
static void reply_linked(struct async_request *async, ssize_t result)
{
	struct mount *fs = async->fs;
	const struct linking *linking = linking_of(async);
	struct inode *inode = NULL;
	int rc = (int)result, missing;

	if (rc == 0)
		inode = tree_find(&fs->tree, &linking->directory, linking->name, &missing);
	if (rc == 0 && (!inode || type_of(inode) != type_of(async->inode))) {
		inodes_put(fs->inodes, inode);
		inode = async->inode;
	} else {
		inodes_put(fs->inodes, async->inode);
	}
	ops_reply_entry(async->req, inode, rc);
}

static void link_async(fuse_req_t req, struct inode *inode, const struct inode *directory,
		       const char *name, struct pool *pool)
{
	struct linking linking = { .directory = *directory };
	struct async_request *async;

	snprintf(linking.name, sizeof(linking.name), "%s", name);
	async = async_new(req, inode, link_node, &linking, sizeof(linking));
	if (!async)
		return;
	async->reply = reply_linked;
	async_submit(async, pool);
}

/* Refuse a file such as an organ of .base, whose inode is not that of the slot. */
static int refuse_source(const struct inode *directory, const char *name)
{
	log_add(directory->model->log,
		"%s/%s: refused: only an organ of a class directory can be linked; copy the file "
		"with cp",
		tree_title(directory->ino), name);
	return -EPERM;
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);
	struct inode *inode = inodes_get(fs->inodes, ino);

	if (!directory || !family_of(directory)->takes_links || ops_is_desktop_file(name))
		rc = ops_refuse(fs, parent, name, REFUSED_LINK);
	else if (!inode)
		rc = -ESTALE;
	else if (!family_of(inode)->slot && !family_of(inode)->scratch)
		rc = refuse_source(directory, name);
	else
		rc = 0;
	if (rc == 0) {
		link_async(req, inode, directory, name, fs->commits);
	} else {
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
	}
	inodes_put(fs->inodes, directory);
}

/* A link owned by the caller that the daemon does not follow. NULL: out of memory. */
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

/* The directory, to release, if it takes links although it takes no other new names; else NULL. */
static struct inode *linkable(struct mount *fs, fuse_ino_t ino)
{
	struct inode *directory = inodes_get(fs->inodes, ino);

	if (directory && family_of(directory)->check_link &&
	    tree_can_graft(&fs->tree, directory->model))
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

/* Check whether a link of that name may be made. Returns 0 or -errno. */
static int check_name(struct mount *fs, const struct inode *directory, const char *name)
{
	const struct family *family = family_of(directory);
	struct inode *inode;
	int rc;

	if (ops_is_desktop_file(name) || !family->takes_links)
		return ops_refuse(fs, directory->ino, name, REFUSED_LINK);
	if (family->check_link) {
		rc = family->check_link(&fs->tree, directory, name);
		if (rc < 0)
			return rc;
	}
	inode = tree_find(&fs->tree, directory, name, &rc);
	inodes_put(fs->inodes, inode);
	return inode ? -EEXIST : rc == -ENOENT ? 0 : rc;
}

/* Resolving the target of a slot's link may take long, and is done by a job. */
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc), *inode = NULL;
	struct content *content;
	bool fills = false;

	if (!directory)
		directory = linkable(fs, parent);
	rc = directory ? check_name(fs, directory, name)
		       : ops_refuse(fs, parent, name, REFUSED_LINK);
	if (directory && rc == 0) {
		content = plain_link(target, fuse_req_ctx(req));
		fills = tree_is_named(directory->model, directory->ino, name);
		rc = -ENOMEM;
		if (content)
			inode = tree_make_link(&fs->tree, directory, fills ? NULL : name, content,
					       &rc);
	}
	if (inode && fills)
		link_async(req, inode, directory, name, fs->link_lookups);
	else
		ops_reply_entry(req, inode, rc);
	inodes_put(fs->inodes, directory);
}
