/* SPDX-License-Identifier: MIT */
/* ops_open.c - open(): whether it is allowed, and who reads the file.
 *
 * The kernel itself reads (read_modes.h) a model.gguf or an organ whose bytes all lie in one file,
 * and a model.gguf with grafts if a file for it can be made cheaply (shared_file.h). */
#include "fs/assemble/shared_file.h"
#include "fs/fuse/passthrough.h"
#include "fs/layer/layer.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/storage/view.h"
#include "fs/storage/view_file.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/open_files.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/written_words.h"
#include "fs/tree/write_opens.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool for_writing(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

/* An existing slot or key is opened for writing. Answer ESTALE, so that the caller looks the name
 * up again and finds a stage (write_opens.h); a caller that has no name for the file writes through
 * the readers' inode (*nameless). */
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

/* Check whether an inode that is neither stage nor private may be written to; as open_mode(). */
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
		if (family->stage && family->write == WRITE_REFUSED)
			return open_again(req, inode, fi, nameless);
		if (family->write != WRITE_DROPPED && family->write != WRITE_OBEYED)
			return -EACCES;
	}
	write_opens_done(mount_of(req)->writers, fuse_req_ctx(req)->pid, inode->ino);
	if (family->drops)
		log_add(inode->model->log, "%s: writes to this file are discarded: %s",
			generated_name(inode->index), family->drops);
	fi->direct_io = 1;
	return 0;
}

/* Check whether the inode may be opened. Sets the flags of the reply, and *nameless for a nameless
 * writer. Returns 0 or -errno. */
static int open_mode(fuse_req_t req, const struct inode *inode, struct fuse_file_info *fi,
		     bool *nameless)
{
	const struct family *family = family_of(inode);

	if (S_ISDIR(family->mode))
		return -EISDIR;
	if (S_ISLNK(family->mode))
		return -ELOOP;
	if (family->scratch) {
		/* A process that opens for reading and writing may map the file, which older
		 * kernels and libfuse forbid with direct I/O. Without direct I/O pages would be
		 * stale, so all others use it. */
		fi->direct_io = (fi->flags & O_ACCMODE) != O_RDWR;
		return 0;
	}
	if (inode->stage) {
		write_opens_done(mount_of(req)->writers, fuse_req_ctx(req)->pid, inode->ino);
		/* A writer that does not read needs no pages; a reader may map them. */
		fi->direct_io = (fi->flags & O_ACCMODE) == O_WRONLY;
		return 0;
	}
	if (!for_writing(fi)) {
		/* Direct I/O for computed bytes: read-ahead would have the whole file computed, and
		 * the kernel would not stop it at an interrupt. */
		fi->direct_io = family->computed ||
				(inode->view && view_is_computed(inode->view)) ||
				(family->varies && family->varies(inode));
		fi->keep_cache = 1;
		fi->noflush = 1;
		return 0;
	}
	return open_to_write(req, inode, fi, nameless);
}

static struct open_file *open_handle(fuse_req_t req, struct inode *inode, struct view *view,
				     bool writes)
{
	struct mount *fs = mount_of(req);
	const struct family *family = family_of(inode);
	const bool obeyed = writes && family->write == WRITE_OBEYED;
	struct written_words *words =
		obeyed ? written_words_new(family->most, family->lines) : NULL;
	struct open_file *handle = NULL;

	if (words || !obeyed)
		handle = open_files_add(fs->handles, inode, view, writes, fuse_req_ctx(req)->pid);
	if (handle)
		handle->words = words;
	else
		written_words_free(words);
	return handle;
}

/* Whether the kernel may ever read the inode by itself; always the same answer for an inode. */
static bool may_be_handed(const struct mount *fs, const struct inode *inode,
			  const struct view *view)
{
	const struct family *family = family_of(inode);

	if (!read_modes_on(fs->read_modes) || inode->stage)
		return false;
	return family->is_copy || (family->is_organ && view_file_is_likely(view));
}

/* A nameless writer's handle has the stage, but keeps the mode of the inode that was opened. */
static struct open_file *handle_of(fuse_req_t req, struct inode *inode, struct view *view,
				   const struct fuse_file_info *fi, bool nameless)
{
	struct mount *fs = mount_of(req);
	struct inode *stage = nameless ? family_of(inode)->stage(&fs->tree, inode) : NULL;
	struct open_file *handle;

	if (!nameless)
		return open_handle(req, inode, view, for_writing(fi));
	handle = stage ? open_files_add_nameless(fs->handles, stage, view, inode->ino,
						 fuse_req_ctx(req)->pid)
		       : NULL;
	/* The handle holds the stage's inode; release the readers' inode. */
	inodes_put(fs->inodes, handle ? inode : stage);
	return handle;
}

/* Whether a close or rename has put the file's content in force or dropped it (scratch_files.h). */
static bool has_ended(struct mount *fs, const struct inode *inode)
{
	return family_of(inode)->scratch && inode->stage &&
	       scratch_files_has_ended(fs->scratches, inode);
}

int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	const struct family *family = family_of(inode);
	struct view *view = NULL;
	struct read_mode *mode = NULL;
	struct open_file *handle = NULL;
	bool nameless = false, entered = true;
	int rc = open_mode(req, inode, fi, &nameless);

	if (rc < 0)
		return rc;
	rc = -ENOMEM;
	if (!inode->stage) {
		view = family->open ? family->open(&fs->tree, inode, &rc) : view_ref(inode->view);
		if (!view)
			return rc;
	}
	if (may_be_handed(fs, inode, view)) {
		mode = read_modes_enter(fs->read_modes, inode->ino);
		entered = mode != NULL;
	}
	if (entered)
		handle = handle_of(req, inode, view, fi, nameless);
	if (!handle) {
		read_mode_leave(fs->read_modes, mode);
		view_unref(view);
		return -ENOMEM;
	}
	/* ops_free_open_file() releases the handle's reference, but the caller keeps one. */
	if (has_ended(fs, handle->inode)) {
		inodes_get(fs->inodes, inode->ino);
		ops_free_open_file(fs, handle);
		return -ESTALE;
	}
	handle->mode = mode;
	handle->uid = fuse_req_ctx(req)->uid;
	handle->gid = fuse_req_ctx(req)->gid;
	handle->maps = (fi->flags & O_ACCMODE) == O_RDWR && !fi->direct_io;
	if (handle->direct)
		fi->direct_io = 1;
	if (handle->fresh)
		fi->keep_cache = 0;
	fi->fh = (uintptr_t)handle;
	return 0;
}

/* Hand the file behind the view to the kernel. Returns the kernel's number of the file, or 0. */
static int hand_file(struct mount *fs, struct view *view)
{
	struct backing *file = view_file(view);
	const int fd = file ? backing_fd_get(file) : -1;
	int number = 0;

	if (fd >= 0) {
		number = passthrough_hand(fs, fd);
		backing_fd_put(file);
	}
	return number;
}

/* Make a file with the view's bytes for the kernel to read. fill: write its bytes; without it the
 * function only finds out whether the kernel would take the file. If the file cannot be made, the
 * daemon reads. The end of the mount stops the filling. Returns the kernel's number, 0 or
 * -EINTR. */
static int hand_snapshot(struct mount *fs, const struct inode *inode, struct view *view,
			 const atomic_bool *stop, bool fill)
{
	struct layer *layer = inode->model->layer;
	int fd = -1, number = 0, rc = 0;

	if (family_of(inode)->is_copy && layer && !fs->options->no_snapshot)
		fd = shared_file_new(view, layer_path(layer));
	if (fd < 0)
		return 0;
	number = passthrough_hand(fs, fd);
	if (number > 0 && fill)
		rc = shared_file_fill(fd, view, stop, &mount_model_files(fs, inode)->ending);
	close(fd);
	if (rc < 0)
		passthrough_give_back(fs, number);
	return rc == 0 ? number : rc == -EINTR ? rc : 0;
}

static int hand(struct mount *fs, const struct inode *inode, struct view *view,
		const atomic_bool *stop, bool fill, enum read_way *way)
{
	int number = hand_file(fs, view);

	*way = READ_PASSTHROUGH;
	if (number == 0) {
		number = hand_snapshot(fs, inode, view, stop, fill);
		*way = number > 0 ? READ_SNAPSHOT : READ_BY_DAEMON;
	}
	return number;
}

enum read_way ops_read_way(struct mount *fs, const struct inode *inode)
{
	const struct family *family = family_of(inode);
	enum read_way way = READ_BY_DAEMON;
	struct view *view;
	int rc;

	if (read_modes_way(fs->read_modes, inode->ino, &way) ||
	    (family->is_copy && !inode->model->whole))
		return way;
	view = family->open ? family->open(&fs->tree, inode, &rc) : view_ref(inode->view);
	if (view && may_be_handed(fs, inode, view)) {
		rc = hand(fs, inode, view, NULL, false, &way);
		if (rc > 0)
			passthrough_give_back(fs, rc);
	}
	view_unref(view);
	return way;
}

/* The read_mode_find of read_modes.h. */
static int find_file(void *context, const atomic_bool *stop, enum read_way *way)
{
	const struct async_request *async = context;
	const struct open_file *handle = async->handle;

	return hand(async->fs, handle->inode, handle->view, stop, true, way);
}

/* The first open() of the inode decides the way of reading for all. The daemon reads for a writer
 * or with direct I/O; the kernel allows both beside passthrough. */
static ssize_t choose(struct async_request *async)
{
	const struct open_file *handle = async->handle;
	const struct fuse_file_info *fi = (void *)async->text;
	const bool by_daemon =
		handle->writes || fi->direct_io || (fi->flags & O_DIRECT) || handle->fresh;

	return read_mode_choose(async->fs->read_modes, handle->mode, by_daemon ? NULL : find_file,
				async, &async->stop);
}

static void drop_open(struct async_request *async)
{
	ops_free_open_file(async->fs, async->handle);
}

/* The kernel reads this inode by itself, and the process wants to write. Answer as open_again()
 * does; but a nameless writer cannot be told apart from the readers. */
static int send_away(struct async_request *async)
{
	const struct open_file *handle = async->handle;
	struct fuse_file_info unused = { 0 };
	bool nameless = handle->nameless != 0;
	const int rc = nameless ? 0 : open_again(async->req, handle->inode, &unused, &nameless);

	if (!nameless)
		return rc;
	log_add(handle->inode->model->log,
		"cannot write: the file was reopened without its name (through /proc/self/fd, as "
		"Samba does) while the kernel reads it for another process; close the reader or "
		"open the file by its path");
	return -EBUSY;
}

static void reply_open(struct async_request *async, ssize_t result)
{
	struct fuse_file_info *fi = (void *)async->text;
	const bool direct = fi->direct_io || (fi->flags & O_DIRECT);
	int rc = (int)result;

	if (rc > 0 && async->handle->writes)
		rc = send_away(async);
	if (rc < 0) {
		fuse_reply_err(async->req, -rc);
		drop_open(async);
		return;
	}
	if (rc > 0) {
		fi->direct_io = direct;
		rc = passthrough_reply_open(async->req, fi, rc);
	} else {
		rc = fuse_reply_open(async->req, fi);
	}
	/* An interrupted open() gets no release. */
	if (rc < 0)
		drop_open(async);
}

/* Answer in a job, which asks a disk, may write a file, and may wait for another open(). */
static void open_by_mode(fuse_req_t req, struct open_file *handle, const struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct async_request *async = async_new(req, NULL, choose, fi, sizeof(*fi));

	if (!async) {
		ops_free_open_file(fs, handle);
		return;
	}
	async->handle = handle;
	async->reply = reply_open;
	async->drop = drop_open;
	async_submit(async, fs->opens);
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	const int rc = inode ? ops_open(req, inode, fi) : -ESTALE;

	if (rc < 0) {
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
	} else if (open_file_of(fi)->mode) {
		open_by_mode(req, open_file_of(fi), fi);
	} else if (fuse_reply_open(req, fi) < 0) {
		/* An interrupted open() gets no release. */
		ops_free_open_file(fs, open_file_of(fi));
	}
}
