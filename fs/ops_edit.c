/* SPDX-License-Identifier: MIT */
/* ops_edit.c - changes of names: there are those of the model's tensors and no others, so each of
 * these is refused. */
#include "fs/ops.h"

#include <errno.h>

static void refuse(fuse_req_t req)
{
	fuse_reply_err(req, fs_of(req)->options->read_only ? EROFS : EPERM);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)device;
	refuse(req);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	refuse(req);
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	refuse(req);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	refuse(req);
}

/* unlink and rmdir. */
void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	refuse(req);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	(void)parent;
	(void)name;
	(void)new_parent;
	(void)new_name;
	(void)flags;
	refuse(req);
}
