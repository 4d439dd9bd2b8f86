/* SPDX-License-Identifier: MIT */
/* ops_rename.c - names in class directories that move, and second names: rename, link. What changes
 * a slot waits for the disk and is answered by a job. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/fuse/ops_async.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_slot(const struct inode *inode)
{
	return family_of(inode)->slot;
}

static bool is_scratch(const struct inode *inode)
{
	return family_of(inode)->scratch;
}

/* What a job on names works with. */
struct renaming {
	uint64_t directory, new_directory;
	struct model *new_model;
	enum organ_class new_class;
	bool adapter; /* the new name is of a file in adapters that is no organ's */
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1]; /* the latter without ".bin" of a slot */
};

static struct renaming *names_of(struct async_request *async)
{
	return (struct renaming *)(void *)async->text;
}

/* The directory that the new name is in, for tree_find() and the like. */
static struct inode new_directory(const struct renaming *names)
{
	return (struct inode){ .ino = names->new_directory,
			       .family = FAMILY_CLASS,
			       .index = names->new_class,
			       .model = names->new_model };
}

/* What is in a scratch file, or where a link leads that is none of a slot's, is to fill a slot, or
 * become what an adapter has of that name. */
static int fill_from(const struct inode *inode, struct model *model, bool adapter,
		     enum organ_class klass, const char *name)
{
	const struct content *link = inode->content;

	if (adapter)
		return link ? adapter_edit_link(model, name, link->target, link->uid, link->gid)
			    : adapter_edit_write(model, name, inode->stage);
	if (link)
		return graft_symlink(model, klass, name, link->target, link->uid, link->gid);
	return graft_fill_name(model, klass, name, inode->stage);
}

/* From a scratch file to a slot. */
static ssize_t fill_slot(struct async_request *async)
{
	const struct renaming *names = names_of(async);
	const int rc = fill_from(async->inode, names->new_model, names->adapter, names->new_class,
				 names->new_name);

	if (rc == 0)
		scratch_files_remove(mount_of(async->req)->scratches, names->directory,
				     names->name);
	return rc;
}

static ssize_t move_slot(struct async_request *async)
{
	const struct renaming *names = names_of(async);

	return graft_move(async->inode->model, async->inode->index, names->new_class,
			  names->new_name);
}

/* From a slot to a scratch file. */
static ssize_t set_aside(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct renaming *names = names_of(async);
	const struct inode directory = new_directory(names);
	struct inode *organ = async->inode;
	/* What adapters make of it stays behind with them. */
	struct inode own = { .index = organ->index,
			     .model = organ->model,
			     .content = content_own(organ->content) };
	int rc;
	struct inode *inode =
		tree_keep_as_scratch(&fs->tree, &directory, names->new_name, &own, &rc);

	if (rc == 0)
		rc = graft_remove(organ->model, organ->index);
	inodes_put(fs->inodes, inode);
	return rc;
}

static bool is_theta_name(const char *name)
{
	const size_t n = strlen(name);

	return n >= 6 && strcmp(name + n - 6, ".theta") == 0;
}

/* A scratch file goes under another name that is no slot's. What becomes of a θ file is known. */
static int rename_scratch(struct mount *fs, const struct renaming *names)
{
	const struct inode directory = new_directory(names);
	struct inode *target;
	bool drops;
	int rc;

	if (is_theta_name(names->new_name)) {
		struct inode *scratch = NULL;

		if (scratch_files_find(fs->scratches, directory.ino, names->new_name, &scratch) ==
		    SCRATCH_HIDDEN)
			scratch_files_remove(fs->scratches, directory.ino, names->new_name);
		inodes_put(fs->inodes, scratch);
		target = tree_find(&fs->tree, &directory, names->new_name, &rc);
		drops = target && family_of(target)->write == WRITE_DROPPED;
		inodes_put(fs->inodes, target);
		if (drops) {
			scratch_files_remove(fs->scratches, names->directory, names->name);
			return 0;
		}
	}
	return scratch_files_rename(fs->scratches, names->directory, names->name, directory.ino,
				    names->new_name);
}

static void rename_node(fuse_req_t req, struct inode *inode, struct renaming *names)
{
	struct mount *fs = mount_of(req);
	const size_t slot = tree_slot_name(names->new_name);
	struct async_request *async;
	int rc = 0;

	if (family_of(inode)->copied)
		rc = -EXDEV;
	else if ((!is_slot(inode) && !is_scratch(inode)) || (is_slot(inode) && names->adapter))
		rc = -EPERM;
	/* As between two filesystems: the tools copy then, which moves no byte either. */
	else if (inode->model != names->new_model)
		rc = -EXDEV;
	else if (is_scratch(inode) && !slot && !names->adapter)
		rc = rename_scratch(fs, names);
	if (rc < 0 || (is_scratch(inode) && !slot && !names->adapter)) {
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
		return;
	}
	if (slot)
		names->new_name[slot] = '\0';
	async = async_new_on(req, inode, sizeof(*names),
			     is_scratch(inode) ? fill_slot
			     : slot	       ? move_slot
					       : set_aside);
	if (!async)
		return;
	*names_of(async) = *names;
	async->reply = async_reply_renamed;
	async_submit(async, fs->commits);
}

/* The inode that is to be renamed, to release. NULL with *rc set. */
static struct inode *find_old(struct mount *fs, const struct inode *from, const char *name,
			      const struct inode *to, const char *new_name, unsigned flags, int *rc)
{
	struct inode *target;

	if (flags & RENAME_EXCHANGE || ops_is_desktop_file(new_name)) {
		*rc = flags & RENAME_EXCHANGE ? -EINVAL : -EPERM;
		return NULL;
	}
	if (flags & RENAME_NOREPLACE) {
		target = tree_find(&fs->tree, to, new_name, rc);
		inodes_put(fs->inodes, target);
		if (target) {
			*rc = -EEXIST;
			return NULL;
		}
	}
	return tree_find(&fs->tree, from, name, rc);
}

static struct renaming renaming_to(const struct inode *directory, const char *new_name)
{
	struct renaming names = { .new_directory = directory->ino,
				  .new_model = directory->model,
				  .new_class = (enum organ_class)directory->index,
				  .adapter = tree_is_adapter_name(directory->ino, new_name) };

	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	return names;
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *from = ops_editable(fs, parent, &rc), *inode = NULL;
	struct inode *to = from ? ops_editable(fs, new_parent, &rc) : NULL;
	struct renaming names;

	if (!from)
		rc = ops_rename_beside(fs, parent, name, new_parent, new_name);
	else if (!to)
		rc = ops_refuse(fs, new_parent, new_name, REFUSED_FILE);
	if (to) {
		inode = find_old(fs, from, name, to, new_name, flags, &rc);
		names = renaming_to(to, new_name);
		names.directory = parent;
		snprintf(names.name, sizeof(names.name), "%s", name);
	}
	inodes_put(fs->inodes, from);
	inodes_put(fs->inodes, to);
	if (inode && (tree_is_metadata(parent) || tree_is_metadata(new_parent))) {
		if (parent == new_parent) {
			const struct inode directory = { .ino = parent,
							 .family = FAMILY_METADATA,
							 .model = inode->model };

			ops_rename_key(req, inode, &directory, name, new_name);
			return;
		}
		/* The tools copy then. */
		inodes_put(fs->inodes, inode);
		inode = NULL;
		rc = -EXDEV;
	}
	if (inode)
		rename_node(req, inode, &names);
	else
		fuse_reply_err(req, -rc);
}

static ssize_t link_node(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct renaming *names = names_of(async);
	const struct inode directory = new_directory(names);
	struct inode *inode = async->inode, *made;
	const size_t slot = tree_slot_name(names->new_name);
	char name[NAME_MAX + 1];
	int rc;

	snprintf(name, sizeof(name), "%.*s", (int)(slot ? slot : NAME_MAX), names->new_name);
	if (is_scratch(inode) && inode->model != names->new_model)
		return -EXDEV;
	if (is_slot(inode) && names->adapter)
		return -EPERM;
	if (is_scratch(inode))
		return slot || names->adapter
			       ? fill_from(inode, inode->model, names->adapter, names->new_class,
					   name)
			       : scratch_files_add(fs->scratches, directory.ino, name, inode);
	if (slot)
		return graft_link(inode->model, inode->index, names->new_model, names->new_class,
				  name);
	made = tree_keep_as_scratch(&fs->tree, &directory, name, inode, &rc);
	inodes_put(fs->inodes, made);
	return rc;
}

/* The new name may be another inode's: that of the slot that was filled. */
static void reply_linked(struct async_request *async, ssize_t result)
{
	struct mount *fs = mount_of(async->req);
	const struct renaming *names = names_of(async);
	const struct inode directory = new_directory(names);
	struct inode *inode = NULL;
	int rc = (int)result;

	inodes_put(fs->inodes, async->inode);
	if (rc == 0)
		inode = tree_find(&fs->tree, &directory, names->new_name, &rc);
	if (inode)
		ops_reply_entry(async->req, inode);
	else
		fuse_reply_err(async->req, -rc);
	inodes_put(fs->inodes, inode);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);
	struct inode *inode = directory ? inodes_get(fs->inodes, ino) : NULL;
	struct renaming names;
	struct async_request *async;

	if (directory && !family_of(directory)->takes_links) {
		inodes_put(fs->inodes, inode);
		inode = NULL;
		rc = -EPERM;
	} else if (directory && !inode)
		rc = -ESTALE;
	else if (directory)
		names = renaming_to(directory, name);
	inodes_put(fs->inodes, directory);
	if (inode && (ops_is_desktop_file(name) || (!is_slot(inode) && !is_scratch(inode)))) {
		inodes_put(fs->inodes, inode);
		inode = NULL;
		rc = -EPERM;
	}
	if (!inode) {
		fuse_reply_err(req, -rc);
		return;
	}
	async = async_new_on(req, inode, sizeof(names), link_node);
	if (!async)
		return;
	*names_of(async) = names;
	async->reply = reply_linked;
	async_submit(async, fs->commits);
}
