/* SPDX-License-Identifier: MIT */
/* ops_file.c - open files: open, read, copy. */
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

static void reply_bytes(fuse_req_t req, const char *buffer, ssize_t got)
{
	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buffer, (size_t)got);
}

static void drop_read(struct async_request *async)
{
	reply_buffers_put(async->fs->buffers, async->buffer);
	view_unref(async->view);
}

static void reply_read(struct async_request *async, ssize_t got)
{
	reply_bytes(async->req, async->buffer, got);
	drop_read(async);
}

static ssize_t run_read(struct async_request *async)
{
	async->buffer = reply_buffers_get(async->fs->buffers);
	if (!async->buffer)
		return -ENOMEM;
	if (!async->view)
		return stage_read(async->handle->inode->stage, async->buffer, async->size,
				  async->offset);
	return view_read_cancellable(async->view, async->buffer, async->size, async->offset,
				     &async->stop);
}

/* A writer without a name sees its stage, and pages of the inode do not (open_files.h). */
static bool sees_view(const struct open_file *handle, const struct fuse_file_info *fi)
{
	return handle->nameless ? fi->lock_owner == 0 : handle->view != NULL;
}

/* From memory alone. */
static void read_now(fuse_req_t req, struct view *view, size_t size, uint64_t offset)
{
	struct mount *fs = mount_of(req);
	char *buffer = reply_buffers_get(fs->buffers);

	reply_bytes(req, buffer, buffer ? view_read(view, buffer, size, offset) : -ENOMEM);
	reply_buffers_put(fs->buffers, buffer);
}

/* What may take long is done on other threads than those that answer requests; what waits for a
 * disk, on those that read_threads.h says. A view outlives its handle where the reader is gone; a
 * stage, whose reader waits for the answer, does not have to. */
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct open_file *handle = open_file_of(fi);
	struct view *view = sees_view(handle, fi) ? handle->view : NULL;
	struct backing *from;
	struct async_request *async;
	bool slow;

	(void)ino;
	if (size > REPLY_BUFFER_SIZE)
		size = REPLY_BUFFER_SIZE;
	slow = view && view_is_slow(view, size, (uint64_t)offset);
	from = view ? view_backing_at(view, size, (uint64_t)offset) : NULL;
	if (view && !slow && !from) {
		read_now(req, view, size, (uint64_t)offset);
		return;
	}
	async = async_new(req, NULL, run_read, NULL, 0);
	if (!async)
		return;
	async->reply = reply_read;
	async->drop = view ? drop_read : NULL;
	async->view = view ? view_ref(view) : NULL;
	async->handle = handle;
	async->size = size;
	async->offset = (uint64_t)offset;
	if (slow) {
		async_submit(async, fs->computed_reads);
	} else if (read_threads_try_enter(fs->read_threads)) {
		async_run_now(async);
		read_threads_leave(fs->read_threads);
	} else {
		async_submit(async, read_threads_for_device(fs->read_threads,
							    from ? backing_stat(from)->st_dev : 0));
	}
}

/* One answer tells of no more. */
#define COPY_MOST ((uint64_t)UINT32_MAX & ~(uint64_t)4095)

/* A whole organ of this mount is taken by the stage without a copy; anything else the kernel copies
 * by reading and writing. */
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t offset, struct fuse_file_info *fi,
			fuse_ino_t ino_out, off_t offset_out, struct fuse_file_info *fi_out,
			size_t size, int flags)
{
	struct open_file *from = open_file_of(fi), *to = open_file_of(fi_out);
	const struct inode *inode = from->inode;
	const struct origin origin = { inode->model, inode->index, inode->content };
	uint64_t left = 0;

	(void)ino;
	(void)ino_out;
	(void)flags;
	if (!to->inode->stage || to->nameless || offset != offset_out ||
	    !family_of(inode)->is_organ) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if ((uint64_t)offset < view_size(from->view))
		left = view_size(from->view) - (uint64_t)offset;
	if (left > COPY_MOST)
		left = COPY_MOST;
	if (offset == 0 && left && size >= view_size(from->view))
		stage_adopt(to->inode->stage, from->view, &origin);
	if (left && !stage_adopted(to->inode->stage, from->view))
		fuse_reply_err(req, EOPNOTSUPP);
	else
		fuse_reply_write(req, size < left ? size : (size_t)left);
}
