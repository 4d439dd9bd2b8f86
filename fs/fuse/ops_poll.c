/* SPDX-License-Identifier: MIT */
/* ops_poll.c - poll(): .grafts and .log tell waiting processes of a change by POLLPRI, as files of
 * /proc and /sys do. POLLIN is always set, as for every regular file: programs like ssh(1) that
 * wait for it before each read would hang, also at the end of the file.
 *
 * The kernel (fuse_file_poll() in Linux's fs/fuse/file.c) asks with a handle while a process waits
 * on the open file, and once more after each notice; an answer without POLLPRI lets the process
 * wait on. After an answer of ENOSYS the kernel would never ask again, for any file. When the
 * connection is closed, the kernel itself wakes all processes with POLLERR. */
#include "fs/fuse/ops.h"
#include "fs/fuse/pollers.h"
#include "fs/mount/mount.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/open_files.h"

#include <poll.h>

#define ALWAYS (POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM)

/* Whether the name has another inode now, also because shards have come and the model is
 * another. */
static bool has_changed(const struct mount *fs, const struct inode *inode)
{
	struct generated *generated =
		inode->model ? model_files_current(fs->model_files, inode->model->number)->generated
			     : models_root_generated(fs->overview);

	return generated_ino(generated, inode->index) != inode->ino;
}

void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	     struct fuse_pollhandle *handle)
{
	struct mount *fs = mount_of(req);
	struct open_file *file = open_file_of(fi);
	const bool polled = family_of(file->inode)->polled;

	(void)ino;
	/* Register before has_changed(), so that a later change sends a notice. */
	if (handle && polled)
		pollers_add(&fs->pollers, &file->poller, handle);
	else if (handle)
		fuse_pollhandle_destroy(handle);
	fuse_reply_poll(req, polled && has_changed(fs, file->inode) ? ALWAYS | POLLPRI : ALWAYS);
}
