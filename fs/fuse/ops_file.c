/* SPDX-License-Identifier: MIT */
/* ops_file.c - open files: read, copy. */
#include "fs/edit/stage.h"
#include "fs/fuse/ops.h"
#include "fs/mount/mount.h"
#include "fs/mount/reply_buffers.h"
#include "fs/storage/page_trail.h"
#include "fs/storage/read_threads.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/open_files.h"

#include <errno.h>

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
	page_trail_unref(async->trail);
	view_unref(async->view);
}

static void reply_read(struct async_request *async, ssize_t got)
{
	reply_bytes(async->req, async->buffer, got);
	drop_read(async);
}

static ssize_t run_read(struct async_request *async)
{
	unsigned flags;
	ssize_t got;

	async->buffer = reply_buffers_get(async->fs->buffers);
	if (!async->buffer)
		return -ENOMEM;
	if (!async->view)
		return stage_read(async->handle->inode->stage, async->buffer, async->size,
				  async->offset);
	flags = page_trail_begin(async->trail, async->size, async->offset, false);
	/* The kernel never interrupts read-ahead, so only the end of the mount stops it. */
	if (async->computes)
		stop_flags_add(async->fs->stop_reads, &async->stop_read, &async->stop);
	got = view_read_with(async->view, flags, async->buffer, async->size, async->offset,
			     &async->stop);
	if (async->computes)
		stop_flags_remove(async->fs->stop_reads, &async->stop_read);
	page_trail_done(async->trail, async->offset);
	return got;
}

/* Whether the read gets the view's bytes. A nameless writer reads its stage, but pages of the inode
 * get the readers' bytes (open_files.h). */
static bool sees_view(const struct open_file *handle, const struct fuse_file_info *fi)
{
	return handle->nameless ? fi->lock_owner == 0 : handle->view != NULL;
}

/* Answer a read whose bytes are all in memory. */
static void read_now(fuse_req_t req, struct view *view, size_t size, uint64_t offset)
{
	struct mount *fs = mount_of(req);
	char *buffer = reply_buffers_get(fs->buffers);

	reply_bytes(req, buffer, buffer ? view_read(view, buffer, size, offset) : -ENOMEM);
	reply_buffers_put(fs->buffers, buffer);
}

/* Answer a read from the page cache, without waiting for a disk; the thread may be the one that
 * waits for requests. False: some bytes are not in memory. */
static bool read_at_once(fuse_req_t req, struct open_file *handle, size_t size, uint64_t offset)
{
	struct mount *fs = mount_of(req);
	/* The answer may let another thread free the handle. */
	struct page_trail *trail = page_trail_ref(handle->trail);
	char *buffer = reply_buffers_get(fs->buffers);
	ssize_t got = -EAGAIN;

	if (buffer) {
		const unsigned flags = page_trail_begin(trail, size, offset, true);

		got = view_read_with(handle->view, flags | BACKING_AT_ONCE, buffer, size, offset,
				     NULL);
		page_trail_done(trail, offset);
	}
	if (got == -EAGAIN) {
		page_trail_unref(trail);
	} else {
		reply_bytes(req, buffer, got);
		page_trail_move(trail);
	}
	reply_buffers_put(fs->buffers, buffer);
	return got != -EAGAIN;
}

/* Read on this thread, one of several that take requests. */
static void read_here(struct async_request *async)
{
	struct mount *fs = async->fs;
	struct page_trail *trail = page_trail_ref(async->trail);

	async_run_now(async);
	page_trail_move(trail);
	read_threads_leave(fs->read_threads);
}

/* Computed reads run in pools, and reads from disks on the threads that read_threads.h chooses, so
 * that requests are still taken. A view may outlive its handle, because an interrupted reader
 * leaves. A stage does not: its reader waits for the answer. */
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct open_file *handle = open_file_of(fi);
	struct view *view = sees_view(handle, fi) ? handle->view : NULL;
	struct backing *from;
	struct async_request *async;
	bool slow, remote, enters;

	(void)ino;
	if (size > REPLY_BUFFER_SIZE)
		size = REPLY_BUFFER_SIZE;
	slow = view && view_is_slow(view, size, (uint64_t)offset);
	from = view ? view_backing_at(view, size, (uint64_t)offset) : NULL;
	if (view && !slow && !from) {
		read_now(req, view, size, (uint64_t)offset);
		return;
	}
	remote = from && backing_is_remote(from);
	enters = !slow && !remote && read_threads_try_enter(fs->read_threads);
	if (view && !slow && !remote && !enters &&
	    read_at_once(req, handle, size, (uint64_t)offset))
		return;
	async = async_new(req, NULL, run_read, NULL, 0);
	if (!async) {
		if (enters)
			read_threads_leave(fs->read_threads);
		return;
	}
	async->reply = reply_read;
	async->drop = view ? drop_read : NULL;
	async->view = view ? view_ref(view) : NULL;
	async->trail = page_trail_ref(view ? handle->trail : NULL);
	async->handle = handle;
	async->size = size;
	async->computes = slow;
	async->offset = (uint64_t)offset;
	if (enters)
		read_here(async);
	else if (slow)
		async_submit(async, view_has_rows(view, size, (uint64_t)offset)
					    ? fs->computed_rows
					    : mount_measured_reads(fs, handle->inode));
	else
		async_submit(async, read_threads_for_device(fs->read_threads,
							    from ? backing_stat(from)->st_dev : 0));
}

/* Largest count in one answer, rounded down to the 64 KiB that the kernel's largest pages have. */
#define COPY_MOST ((uint64_t)UINT32_MAX & ~(uint64_t)65535)

/* The stage adopts a whole organ of this mount without a copy; the kernel copies all other ranges
 * by reading and writing. An organ of more than 4 GiB arrives in requests of COPY_MOST bytes; the
 * first request adopts the whole organ. */
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
	if (!ops_can_write(mount_of(req), to->inode)) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	if ((uint64_t)offset < view_size(from->view))
		left = view_size(from->view) - (uint64_t)offset;
	if (left > COPY_MOST)
		left = COPY_MOST;
	open_file_record_write(to, 0, fuse_req_ctx(req)->pid);
	if (offset == 0 && left && size >= left)
		stage_adopt(to->inode->stage, from->view, &origin);
	if (left && !stage_adopted(to->inode->stage, from->view))
		fuse_reply_err(req, EOPNOTSUPP);
	else
		fuse_reply_write(req, size < left ? size : (size_t)left);
}
