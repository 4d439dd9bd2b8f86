/* SPDX-License-Identifier: MIT */
/* ops_create.c - create and unlink in directories whose names come and go. A name that ends in .bin
 * belongs to a slot, any other to a scratch file. A change of a slot waits for the disk and is
 * answered by a job. */
#include "fs/edit/stage.h"
#include "fs/fuse/ops.h"
#include "fs/model/removal.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool ops_is_desktop_file(const char *name)
{
	static const char *const names[] = { ".DS_Store", ".directory", "desktop.ini",
					     "Thumbs.db" };

	if (strncmp(name, ".Trash", 6) == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct inode *ops_editable(struct mount *fs, fuse_ino_t ino, int *rc)
{
	struct inode *directory = inodes_get(fs->inodes, ino);

	*rc = !directory ? -ESTALE : !tree_can_graft(&fs->tree, directory->model) ? -EROFS : -EPERM;
	if (directory && tree_can_graft(&fs->tree, directory->model) &&
	    family_of(directory)->grafts)
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

struct inode *ops_find_in(struct mount *fs, fuse_ino_t ino, const char *name, int *rc)
{
	struct inode *directory = inodes_get(fs->inodes, ino), *inode = NULL;

	*rc = directory ? 0 : -ESTALE;
	if (directory)
		inode = tree_find(&fs->tree, directory, name, rc);
	inodes_put(fs->inodes, directory);
	return inode;
}

static void reply_create(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	const struct fuse_entry_param entry = ops_entry(fs, inode);

	inodes_count_lookup(fs->inodes, inode);
	if (fuse_reply_create(req, &entry, fi) < 0) {
		inodes_forget(fs->inodes, entry.ino, 1);
		ops_free_open_file(fs, open_file_of(fi));
	}
}

/* Give a new file the slot's removal (removal.h), if its process was the last to remove the
 * slot. */
static void hand_removal(const struct inode *directory, const char *name, const struct inode *file,
			 pid_t thread)
{
	struct removal *removal = removal_take(directory->model);
	uint32_t slot;

	if (removal && directory->family == FAMILY_CLASS &&
	    model_find_slot(directory->model, directory->index, name, tree_slot_name(name),
			    &slot) &&
	    slot == removal->slot && process_of(thread) == removal->process)
		stage_set_removal(file->stage, removal);
	else
		removal_free(removal);
}

/* A stage for a slot that exists; emptied: of size 0. NULL with *rc set on an error; NULL with *rc
 * unchanged if the inode takes no stage. */
static struct inode *stage_over(struct mount *fs, const struct inode *inode, bool emptied, int *rc)
{
	const struct family *family = family_of(inode);
	struct inode *made = family->stage ? family->stage(&fs->tree, inode) : NULL;

	if (family->stage)
		*rc = -ENOMEM;
	if (made && emptied && (*rc = family_truncate(made, 0)) < 0) {
		inodes_put(fs->inodes, made);
		made = NULL;
	}
	return made;
}

/* Create the name, or without O_EXCL open the file that exists. A θ file that was removed becomes
 * visible again, an organ under a name that the model does not have may become a new slot, and any
 * other name is a scratch file. */
static struct inode *create_in(struct mount *fs, const struct inode *directory, const char *name,
			       pid_t thread, int flags, int *rc)
{
	struct inode *inode, *made = NULL;

	*rc = ops_is_desktop_file(name) ? -EPERM
					: family_of(directory)->check_name(directory, name);
	if (*rc < 0)
		return NULL;
	if (scratch_files_find(fs->scratches, directory->ino, name, NULL) == SCRATCH_HIDDEN) {
		scratch_files_remove(fs->scratches, directory->ino, name);
		return tree_find(&fs->tree, directory, name, rc);
	}
	inode = tree_find(&fs->tree, directory, name, rc);
	if (!inode) {
		inode = tree_make_scratch(&fs->tree, directory, name, view_new(NULL, 0, NULL), rc);
		if (inode)
			hand_removal(directory, name, inode, thread);
		return inode;
	}
	if (family_of(inode)->discarded ||
	    (!(flags & O_EXCL) && family_of(inode)->write == WRITE_DROPPED))
		return inode;
	/* Another process created it first, or it is hidden from this one (fresh_directories.h). */
	*rc = -EEXIST;
	made = flags & O_EXCL ? NULL : stage_over(fs, inode, flags & O_TRUNC, rc);
	inodes_put(fs->inodes, inode);
	return made;
}

static struct inode *create(fuse_req_t req, fuse_ino_t parent, const char *name, int flags, int *rc)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = ops_editable(fs, parent, rc);
	struct inode *inode =
		directory ? create_in(fs, directory, name, fuse_req_ctx(req)->pid, flags, rc)
			  : ops_create_beside(fs, parent, name, rc);

	inodes_put(fs->inodes, directory);
	return inode;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	int rc;
	struct inode *inode = create(req, parent, name, fi->flags, &rc);

	(void)mode;
	if (inode) {
		rc = ops_open(req, inode, fi);
		if (rc == 0) {
			reply_create(req, inode, fi);
			return;
		}
		inodes_put(mount_of(req)->inodes, inode);
	}
	fuse_reply_err(req, -rc);
}

struct removing {
	uint64_t directory;
	char name[NAME_MAX + 1];
};

/* Remove the inode that the name has once the name lock is held: a slot or key, or a file that is
 * to become one. A process that still has this file open writes to no slot from now on. */
static ssize_t remove_named(struct async_request *async)
{
	const struct removing *removing = (const struct removing *)(const void *)async->text;
	struct name_lock lock = { .names = { { removing->directory, removing->name } } };
	struct mount *fs = async->fs;
	const pid_t process = process_of(fuse_req_ctx(async->req)->pid);
	struct inode *inode;
	int rc;

	name_locks_take(fs->names, &lock);
	inode = ops_find_in(fs, removing->directory, removing->name, &rc);
	if (inode)
		rc = family_of(inode)->remove ? family_of(inode)->remove(inode, process) : 0;
	if (rc == 0)
		scratch_files_remove(fs->scratches, removing->directory, removing->name);
	name_locks_release(fs->names, &lock);
	inodes_put(fs->inodes, inode);
	return rc;
}

/* Remove the name of a file that is neither slot nor key; a θ file or table becomes hidden. */
static int remove_name(struct mount *fs, const struct inode *inode, fuse_ino_t parent,
		       const char *name)
{
	if (family_of(inode)->scratch)
		return scratch_files_remove(fs->scratches, parent, name) ? 0 : -ENOENT;
	return family_of(inode)->discarded ? 0
					   : scratch_files_add(fs->scratches, parent, name, NULL);
}

/* Whether the removal waits, for the disk or for a close(). */
static bool is_removed_by_job(const struct inode *inode, fuse_ino_t parent, const char *name)
{
	return family_of(inode)->remove ||
	       (family_of(inode)->scratch && tree_is_named(inode->model, parent, name));
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);
	struct inode *inode = directory ? tree_find(&fs->tree, directory, name, &rc) : NULL;
	struct removing removing = { .directory = parent };
	struct async_request *async;

	if (!directory)
		inode = ops_find_created(fs, parent, name);
	if (!directory && !inode)
		rc = ops_remove_beside(fs, parent, name);
	inodes_put(fs->inodes, directory);
	if (inode && is_removed_by_job(inode, parent, name)) {
		snprintf(removing.name, sizeof(removing.name), "%s", name);
		async = async_new(req, inode, remove_named, &removing, sizeof(removing));
		if (async)
			async_submit(async, fs->commits);
		return;
	}
	if (inode)
		rc = remove_name(fs, inode, parent, name);
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, -rc);
}

/* tar makes regular files by mknod() to set their attributes before it opens them. */
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = NULL;
	int rc;

	(void)device;
	if (S_ISREG(mode))
		inode = create(req, parent, name, O_EXCL, &rc);
	else
		rc = ops_refuse(fs, parent, name, REFUSED_SPECIAL);
	ops_reply_entry(req, inode, rc);
}
