/* SPDX-License-Identifier: MIT */
/* ops_open.c - open(): what it may do, and in which way the file is read. */
#include "fs/fuse/ops.h"

#include <errno.h>
#include <fcntl.h>

static bool for_writing(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

/* A slot or key that is there is opened to write to it: the caller looks its name up again, and
 * finds a file to write to. A process that has no name for it writes through what it has. */
static int open_again(fuse_req_t req, const struct inode *inode, struct fuse_file_info *fi,
		      bool *nameless)
{
	switch (write_opens_expect(mount_of(req)->writers, fuse_req_ctx(req)->pid,
				   family_of(inode)->number(inode))) {
	case WRITE_OPENS_NAMELESS:
		fi->direct_io = fi->keep_cache = 1;
		*nameless = true;
		return 0;
	case WRITE_OPENS_NO_MEMORY:
		return -ENOMEM;
	case WRITE_OPENS_STALE:
		break;
	}
	return -ESTALE;
}

/* May the inode, which is neither a stage nor private, be written to, and how? As open_mode(). */
static int open_to_write(fuse_req_t req, const struct inode *inode, struct fuse_file_info *fi,
			 bool *nameless)
{
	const struct mount *fs = mount_of(req);
	const struct family *family = family_of(inode);

	if (family->write != WRITE_ASSEMBLES || fs->options->read_only) {
		if (!tree_can_graft(&fs->tree, inode->model))
			return -EROFS;
		if (family->is_fixed && family->is_fixed(inode))
			return -EACCES;
		if (family->stage)
			return open_again(req, inode, fi, nameless);
		if (family->write != WRITE_DROPPED && family->write != WRITE_UNDOES)
			return -EACCES;
	}
	if (family->drops)
		log_add(inode->model->log, "%s: what is written to it is dropped: %s",
			generated_name(inode->index), family->drops);
	fi->direct_io = 1;
	return 0;
}

/* May the inode be opened, and how? Sets the flags of the reply, and whether it is opened to write
 * to it by a process that has no name for it. */
static int open_mode(fuse_req_t req, const struct inode *inode, struct fuse_file_info *fi,
		     bool *nameless)
{
	const struct family *family = family_of(inode);

	if (S_ISDIR(family->mode))
		return -EISDIR;
	if (S_ISLNK(family->mode))
		return -ELOOP;
	if (family->scratch) {
		/* A process that reads and writes may map it, which older kernels and libfuse do
		 * not allow for direct I/O. Others see what was written, no page of before. */
		fi->direct_io = (fi->flags & O_ACCMODE) != O_RDWR;
		return 0;
	}
	if (inode->stage) {
		write_opens_done(mount_of(req)->writers, fuse_req_ctx(req)->pid,
				 family->number(inode));
		/* A process that only writes has no use for pages; a reader may map them. */
		fi->direct_io = (fi->flags & O_ACCMODE) == O_WRONLY;
		return 0;
	}
	if (!for_writing(fi)) {
		/* What has to be made is asked for as it is read: the kernel, reading ahead, would
		 * have all of it made, and not let go of it at an interrupt. */
		fi->direct_io = family->computed || (inode->view && view_is_computed(inode->view));
		fi->keep_cache = 1;
		fi->noflush = 1;
		return 0;
	}
	return open_to_write(req, inode, fi, nameless);
}

static struct open_file *open_handle(struct mount *fs, struct inode *inode, struct view *view,
				     bool writes)
{
	const bool undoes = writes && family_of(inode)->write == WRITE_UNDOES;
	struct undo_words *words = undoes ? undo_words_new() : NULL;
	struct open_file *handle = NULL;

	if (words || !undoes)
		handle = open_files_add(fs->handles, inode, view, writes);
	if (handle)
		handle->words = words;
	else
		undo_words_free(words);
	return handle;
}

int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	const struct family *family = family_of(inode);
	struct view *view = NULL;
	struct inode *stage = NULL;
	struct open_file *handle = NULL;
	bool nameless = false;
	int rc = open_mode(req, inode, fi, &nameless);

	if (rc < 0)
		return rc;
	if (!inode->stage) {
		rc = -ENOMEM;
		view = family->open ? family->open(&fs->tree, inode, &rc) : view_ref(inode->view);
		if (!view)
			return rc;
	}
	if (nameless)
		stage = family->stage(&fs->tree, inode);
	else
		handle = open_handle(fs, inode, view, for_writing(fi));
	if (stage)
		handle = open_files_add_nameless(fs->handles, stage, view, inode->ino,
						 fuse_req_ctx(req)->pid);
	if (!handle) {
		inodes_put(fs->inodes, stage);
		view_unref(view);
		return -ENOMEM;
	}
	/* The handle's inode is the stage's; the other one is not needed any more. */
	if (stage)
		inodes_put(fs->inodes, inode);
	handle->maps = (fi->flags & O_ACCMODE) == O_RDWR && !fi->direct_io;
	if (handle->direct)
		fi->direct_io = 1;
	if (handle->fresh)
		fi->keep_cache = 0;
	fi->fh = (uintptr_t)handle;
	return 0;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	const int rc = inode ? ops_open(req, inode, fi) : -ESTALE;

	if (rc < 0) {
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
	} else if (fuse_reply_open(req, fi) < 0) {
		/* Interrupted before the kernel took it: there will be no release. */
		open_files_close(fs->handles, open_file_of(fi));
	}
}
