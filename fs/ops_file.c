/* SPDX-License-Identifier: MIT */
/* ops_file.c - open files: open, create, read, release. */
#include "fs/adapters.h"
#include "fs/files.h"
#include "fs/ops_later.h"
#include "fs/ops_views.h"
#include "fs/theta.h"

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

/* May the node be opened, and how? Sets the flags of the reply. */
static int open_mode(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	if (ops_is_directory(node))
		return -EISDIR;
	if (ops_is_link(node))
		return -ELOOP;
	if (node->kind == NODE_SCRATCH) {
		fi->direct_io = 1;
		return 0;
	}
	if (node->kind == NODE_STAGE || node->kind == NODE_KEY_STAGE ||
	    node->kind == NODE_SETTING_STAGE || node->kind == NODE_EXPERT_STAGE) {
		writers_arrived(fs->writers, fuse_req_ctx(req)->pid, ops_slot_number(node));
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
	    node->kind == NODE_EXPERT) {
		/* Either way the answer; if there is no name to look up again, the caller's. */
		writers_expect(fs->writers, fuse_req_ctx(req)->pid, ops_slot_number(node));
		return -ESTALE;
	}
	if (!ops_is_theta(node) && !ops_is_undo(node))
		return -EACCES;
	fi->direct_io = 1;
	return 0;
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

int ops_open(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct view *view = NULL;
	struct handle *handle;
	int rc = open_mode(req, node, fi);

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

static void reply_read(struct later *later, ssize_t got)
{
	struct fs *fs = fs_of(later->req);

	if (got < 0)
		fuse_reply_err(later->req, (int)-got);
	else
		fuse_reply_buf(later->req, later->buffer, (size_t)got);
	buffers_put(fs->buffers, later->buffer);
}

static ssize_t read_slowly(struct later *later)
{
	later->buffer = buffers_get(fs_of(later->req)->buffers);
	if (!later->buffer)
		return -ENOMEM;
	return view_read_until(later->handle->view, later->buffer, later->size, later->offset,
			       &later->stop);
}

/* What may take long is done on other threads than those that answer requests. */
static void read_later(fuse_req_t req, struct handle *handle, size_t size, uint64_t offset)
{
	struct later *later = later_new(req, 0);

	if (!later)
		return;
	later->act = read_slowly;
	later->reply = reply_read;
	later->handle = handle;
	later->size = size;
	later->offset = offset;
	later_submit(later, fs_of(req)->makers);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_of(fi);
	char *buffer;
	ssize_t got;

	(void)ino;
	if (size > BUFFER_SIZE)
		size = BUFFER_SIZE;
	if (handle->view && view_is_slow(handle->view, size, (uint64_t)offset)) {
		read_later(req, handle, size, (uint64_t)offset);
		return;
	}
	buffer = buffers_get(fs->buffers);
	if (!buffer)
		got = -ENOMEM;
	else if (handle->view)
		got = view_read(handle->view, buffer, size, (uint64_t)offset);
	else
		got = stage_read(handle->node->stage, buffer, size, (uint64_t)offset);
	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buffer, (size_t)got);
	buffers_put(fs->buffers, buffer);
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
	if (!to->node->stage || offset != offset_out ||
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
