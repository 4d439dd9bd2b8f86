/* SPDX-License-Identifier: MIT */
/* ops_file.c - open files: open, create, read, release. */
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/lazy/theta_text.h"
#include "fs/model/adapters.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static bool for_writing(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

static struct view *text_of_key(const struct node *node, int *rc)
{
	struct metadatum *metadatum = nodes_metadatum(node);
	struct view *view = metadatum ? metadatum_view(metadatum, rc) : NULL;

	metadatum_unref(metadatum);
	return view;
}

/* What a reader of the node gets to see. NULL with *rc set. */
static struct view *content_of(struct fs *fs, struct node *node, int *rc)
{
	const struct subject subject = { node->index, node->content };

	*rc = -ENOMEM;
	if (node->kind == NODE_KEY || node->kind == NODE_BASE_KEY)
		return text_of_key(node, rc);

	if (node->kind == NODE_ORGAN || node->kind == NODE_BASE_ORGAN)
		return files_organ(node->model, node->index, node->content);
	if (ops_is_view_file(node))
		return ops_view_content(node);
	if (node->kind == NODE_THETA)
		return theta_file(fs_mounted(fs, node)->readings, &subject);
	return view_ref(node->view);
}

static bool is_made(const struct node *node)
{
	return node->kind == NODE_THETA ||
	       (node->kind == NODE_GENERATED && view_is_made(node->view));
}

/* A slot or key that is there is opened to write to it: the caller looks its name up again, and
 * finds a file to write to. A process that has no name for it writes through what it has. */
static int open_again(fuse_req_t req, const struct node *node, struct fuse_file_info *fi,
		      bool *nameless)
{
	switch (writers_expect(fs_of(req)->writers, fuse_req_ctx(req)->pid,
			       ops_slot_number(node))) {
	case WRITERS_NAMELESS:
		fi->direct_io = fi->keep_cache = 1;
		*nameless = true;
		return 0;
	case WRITERS_NO_MEMORY:
		return -ENOMEM;
	case WRITERS_STALE:
		break;
	}
	return -ESTALE;
}

/* May the node, which is neither a stage nor private, be written to, and how? As open_mode(). */
static int open_to_write(fuse_req_t req, const struct node *node, struct fuse_file_info *fi,
			 bool *nameless)
{
	struct fs *fs = fs_of(req);

	if (node->kind == NODE_GENERATED && node->index == GENERATED_ASSEMBLE &&
	    !fs->options->read_only) {
		fi->direct_io = 1;
		return 0;
	}
	if (!ops_can_graft(fs, node->model))
		return -EROFS;
	if (node->kind == NODE_KEY && metadata_key(node->model->metadata, node->index).fixed)
		return -EACCES;
	if (node->kind == NODE_SETTING && !adapters_apply(node->model))
		return -EACCES;
	if (node->kind == NODE_ORGAN || node->kind == NODE_KEY || node->kind == NODE_SETTING ||
	    node->kind == NODE_EXPERT)
		return open_again(req, node, fi, nameless);
	if (!ops_drops(node) && !ops_is_undo(node))
		return -EACCES;
	if (node->kind == NODE_GENERATED && node->index == GENERATED_MODEL)
		log_add(node->model->log,
			"%s: what is written to it is dropped: it is the model with its grafts; "
			"another model is mounted by itself",
			generated_name(GENERATED_MODEL));
	fi->direct_io = 1;
	return 0;
}

/* May the node be opened, and how? Sets the flags of the reply, and whether it is opened to write
 * to it by a process that has no name for it. */
static int open_mode(fuse_req_t req, struct node *node, struct fuse_file_info *fi, bool *nameless)
{
	if (ops_is_directory(node))
		return -EISDIR;
	if (ops_is_link(node))
		return -ELOOP;
	if (node->kind == NODE_SCRATCH) {
		/* A process that reads and writes may map it, which older kernels and libfuse do
		 * not allow for direct I/O. Others see what was written, no page of before. */
		fi->direct_io = (fi->flags & O_ACCMODE) != O_RDWR;
		return 0;
	}
	if (node->kind == NODE_STAGE || node->kind == NODE_KEY_STAGE ||
	    node->kind == NODE_SETTING_STAGE || node->kind == NODE_EXPERT_STAGE) {
		writers_arrived(fs_of(req)->writers, fuse_req_ctx(req)->pid, ops_slot_number(node));
		/* Whoever only writes has no use for pages; a reader may map them. */
		fi->direct_io = (fi->flags & O_ACCMODE) == O_WRONLY;
		return 0;
	}
	if (!for_writing(fi)) {
		/* What has to be made is asked for as it is read: the kernel, reading ahead, would
		 * have all of it made, and not let go of it at an interrupt. */
		fi->direct_io = is_made(node);
		fi->keep_cache = 1;
		fi->noflush = 1;
		return 0;
	}
	return open_to_write(req, node, fi, nameless);
}

static bool is_lacking(const struct node *node)
{
	return node->kind == NODE_GENERATED && node->index == GENERATED_MODEL && node->model &&
	       !node->model->whole;
}

static int refuse_lacking(const struct node *node)
{
	char *lacks = model_lacks(node->model);

	log_add(node->model->log, "%s: cannot be opened: %s", generated_name(GENERATED_MODEL),
		lacks ? lacks : "out of memory");
	free(lacks);
	return -ENODATA;
}

static struct handle *open_handle(struct fs *fs, struct node *node, struct view *view, bool writes)
{
	struct words *words = writes && ops_is_undo(node) ? words_new() : NULL;
	struct handle *handle = NULL;

	if (words || !writes || !ops_is_undo(node))
		handle = handles_open(fs->handles, node, view, writes);
	if (handle)
		handle->words = words;
	else
		words_free(words);
	return handle;
}

/* The handle's node is the stage's; the other one is not needed any more. */
static int open_nameless(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct view *view = content_of(fs, node, &rc);
	struct node *stage = view ? ops_make_stage(fs, node) : NULL;
	struct handle *handle = NULL;

	if (!view)
		return rc;
	if (stage)
		handle = handles_open_nameless(fs->handles, stage, view, node->ino,
					       fuse_req_ctx(req)->pid);
	if (!handle) {
		nodes_put(fs->nodes, stage);
		view_unref(view);
		return -ENOMEM;
	}
	nodes_put(fs->nodes, node);
	fi->fh = (uintptr_t)handle;
	return 0;
}

int ops_open(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct view *view = NULL;
	struct handle *handle;
	bool nameless = false;
	int rc = open_mode(req, node, fi, &nameless);

	if (nameless)
		return open_nameless(req, node, fi);
	if (rc == 0 && is_lacking(node))
		rc = refuse_lacking(node);

	if (rc < 0)
		return rc;
	if (!node->stage) {
		view = content_of(fs, node, &rc);
		if (!view)
			return rc;
	}
	handle = open_handle(fs, node, view, for_writing(fi));
	if (!handle) {
		view_unref(view);
		return -ENOMEM;
	}
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
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);
	const int rc = node ? ops_open(req, node, fi) : -ESTALE;

	if (rc < 0) {
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, -rc);
	} else if (fuse_reply_open(req, fi) < 0) {
		/* Interrupted before the kernel took it: there will be no release. */
		handles_close(fs->handles, handle_of(fi));
	}
}

static void drop_read(struct later *later)
{
	buffers_put(later->fs->buffers, later->buffer);
	view_unref(later->view);
}

static void reply_read(struct later *later, ssize_t got)
{
	if (got < 0)
		fuse_reply_err(later->req, (int)-got);
	else
		fuse_reply_buf(later->req, later->buffer, (size_t)got);
	drop_read(later);
}

static ssize_t act_read(struct later *later)
{
	later->buffer = buffers_get(later->fs->buffers);
	if (!later->buffer)
		return -ENOMEM;
	if (!later->view)
		return stage_read(later->handle->node->stage, later->buffer, later->size,
				  later->offset);
	return view_read_until(later->view, later->buffer, later->size, later->offset,
			       &later->stop);
}

/* A writer without a name sees its stage, and pages of the inode do not (handles.h). */
static bool sees_view(const struct handle *handle, const struct fuse_file_info *fi)
{
	return handle->nameless ? fi->lock_owner == 0 : handle->view != NULL;
}

/* From memory alone. */
static void read_now(fuse_req_t req, struct view *view, size_t size, uint64_t offset)
{
	struct fs *fs = fs_of(req);
	char *buffer = buffers_get(fs->buffers);
	const ssize_t got = buffer ? view_read(view, buffer, size, offset) : -ENOMEM;

	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buffer, (size_t)got);
	buffers_put(fs->buffers, buffer);
}

/* What may take long is done on other threads than those that answer requests; what waits for a
 * disk, on those that readers.h says. A view outlives its handle where the reader is gone; a stage,
 * whose reader waits for the answer, does not have to. */
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_of(fi);
	struct view *view = sees_view(handle, fi) ? handle->view : NULL;
	struct backing *from;
	struct later *later;
	bool slow;

	(void)ino;
	if (size > BUFFER_SIZE)
		size = BUFFER_SIZE;
	slow = view && view_is_slow(view, size, (uint64_t)offset);
	from = view ? view_reads(view, size, (uint64_t)offset) : NULL;
	if (view && !slow && !from) {
		read_now(req, view, size, (uint64_t)offset);
		return;
	}
	later = later_new(req, 0);
	if (!later)
		return;
	later->act = act_read;
	later->reply = reply_read;
	later->drop = view ? drop_read : NULL;
	later->view = view ? view_ref(view) : NULL;
	later->handle = handle;
	later->size = size;
	later->offset = (uint64_t)offset;
	if (slow) {
		later_submit(later, fs->makers);
	} else if (readers_enter(fs->readers)) {
		later_now(later);
		readers_leave(fs->readers);
	} else {
		later_submit(later, readers_of(fs->readers, from ? backing_stat(from)->st_dev : 0));
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
	struct handle *from = handle_of(fi), *to = handle_of(fi_out);
	const struct node *node = from->node;
	const struct origin origin = { node->model, node->index, node->content };
	uint64_t left = 0;

	(void)ino;
	(void)ino_out;
	(void)flags;
	if (!to->node->stage || to->nameless || offset != offset_out ||
	    (node->kind != NODE_ORGAN && node->kind != NODE_BASE_ORGAN)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if ((uint64_t)offset < view_size(from->view))
		left = view_size(from->view) - (uint64_t)offset;
	if (left > COPY_MOST)
		left = COPY_MOST;
	if (offset == 0 && left && size >= view_size(from->view))
		stage_adopt(to->node->stage, from->view, &origin);
	if (left && !stage_adopted(to->node->stage, from->view))
		fuse_reply_err(req, EOPNOTSUPP);
	else
		fuse_reply_write(req, size < left ? size : (size_t)left);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_of(fi);
	const bool last = handle_release(handle);
	char path[ORGAN_PATH_MAX];

	(void)ino;
	if (ops_release_words(req, handle))
		return;
	if (last && handle->node->kind == NODE_STAGE && stage_size(handle->node->stage) == 0)
		log_add(handle->node->model->log,
			"%s: emptied and closed again, which is no graft; "
			"the slot keeps what it had",
			model_organ_path(handle->node->model, handle->node->index, path));
	/* Not what a flush has refused: that is dropped. */
	if (last && ops_is_emptied_string(handle->node)) {
		pending_begin(fs->emptied);
		ops_commit_emptied(req, handle);
		return;
	}
	if (last && stage_unflushed(handle->node->stage)) {
		ops_commit_and_close(req, handle);
		return;
	}
	ops_close(fs, handle);
	fuse_reply_err(req, 0);
}
