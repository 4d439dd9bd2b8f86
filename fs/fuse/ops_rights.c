/* SPDX-License-Identifier: MIT */
/* ops_rights.c - requests that change something, checked for the rights of the process.
 *
 * A daemon of root acts with the rights of the calling process (credentials.h), as far as the mode
 * bits, which the kernel checks, allow. The daemon of another user has the rights of that user
 * alone. It could, acting for other callers, whom allow_other lets in, overwrite its user's files
 * and show files that only its user may read. Other users, root included, can therefore only read
 * there, regardless of the mode bits; root can become that user.
 *
 * A process may pass on its right to write as an open descriptor, as on any filesystem. */
#include "fs/fuse/ops.h"
#include "fs/mount/mount.h"
#include "fs/tree/fresh_directories.h"
#include "fs/tree/inodes.h"
#include "fs/tree/open_files.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/credentials.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool ops_name_fits(fuse_req_t req, const char *name)
{
	if (strlen(name) <= NAME_MAX)
		return true;
	fuse_reply_err(req, ENAMETOOLONG);
	return false;
}

/* Whether the caller may change the name in the directory ino, or ino itself if name is NULL.
 * False: the answer was EPERM, with a line in the log, or ENAMETOOLONG. */
static bool may_change(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct mount *fs = mount_of(req);
	const uid_t caller = fuse_req_ctx(req)->uid;
	struct inode *inode;

	if (name && !ops_name_fits(req, name))
		return false;
	if (caller == geteuid() || credentials_can_assume())
		return true;
	inode = inodes_get(fs->inodes, ino);
	log_add(inode && inode->model ? inode->model->log : fs->log,
		"%s%srefused: user %u can only read here: this daemon has the rights of user %u, "
		"and changes nothing for others",
		name ? name : "", name ? ": " : "", (unsigned)caller, (unsigned)geteuid());
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, EPERM);
	return false;
}

void rights_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const bool reads = (fi->flags & O_ACCMODE) == O_RDONLY && !(fi->flags & O_TRUNC);

	if (reads || may_change(req, ino, NULL))
		op_open(req, ino, fi);
}

void rights_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		    struct fuse_file_info *fi)
{
	if ((fi && open_file_of(fi)->writes) || may_change(req, ino, NULL))
		op_setattr(req, ino, attr, to_set, fi);
}

/* The same for a name; *place is its class directory and name there if ino is a block's. */
static bool may_name(fuse_req_t req, fuse_ino_t ino, const char *name, struct tree_name *place)
{
	*place = (struct tree_name){ .directory = ino, .name = name };
	if (!may_change(req, ino, name))
		return false;
	if (tree_place(&mount_of(req)->tree, place))
		return true;
	fuse_reply_err(req, ENAMETOOLONG);
	return false;
}

void rights_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	const pid_t thread = fuse_req_ctx(req)->pid;
	struct tree_name place;

	if (!may_name(req, parent, name, &place))
		return;
	if (place.directory != parent && (fi->flags & O_EXCL) && tree_slot_name(name))
		fresh_directories_add(fs->fresh, parent, false, thread);
	/* The file may exist although it is hidden from this process. */
	if (fresh_directories_has(fs->fresh, parent, name, thread)) {
		scratch_files_add(fs->scratches, parent, name, NULL);
		fi->flags = (fi->flags & ~O_EXCL) | O_TRUNC;
	}
	op_create(req, place.directory, place.name, mode, fi);
}

void rights_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct tree_name place;

	if (may_name(req, parent, name, &place))
		op_mknod(req, place.directory, place.name, mode, device);
}

void rights_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	if (may_change(req, parent, name))
		op_mkdir(req, parent, name, mode);
}

void rights_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct tree_name place;

	if (may_name(req, parent, name, &place))
		op_symlink(req, target, place.directory, place.name);
}

void rights_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct tree_name place;

	if (may_name(req, parent, name, &place))
		op_link(req, ino, place.directory, place.name);
}

/* `rm -r` removes the directory of a block after the last name in it: keep it until then. */
void rights_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree_name place;

	if (!may_name(req, parent, name, &place))
		return;
	tree_keep_block(&mount_of(req)->tree, parent);
	op_unlink(req, place.directory, place.name);
}

void rights_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (may_change(req, parent, name))
		op_rmdir(req, parent, name);
}

void rights_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		   const char *new_name, unsigned flags)
{
	struct tree_name from, to = { .directory = new_parent, .name = new_name };

	if (!ops_name_fits(req, new_name) || !may_name(req, parent, name, &from))
		return;
	if (parent != new_parent)
		tree_keep_block(&mount_of(req)->tree, parent);
	if (tree_place(&mount_of(req)->tree, &to))
		op_rename(req, from.directory, from.name, to.directory, to.name, flags);
	else
		fuse_reply_err(req, ENAMETOOLONG);
}

void rights_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
		     size_t size, int flags)
{
	if (may_change(req, ino, NULL))
		op_setxattr(req, ino, name, value, size, flags);
}

void rights_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (may_change(req, ino, NULL))
		op_removexattr(req, ino, name);
}
