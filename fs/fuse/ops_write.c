/* SPDX-License-Identifier: MIT */
/* ops_write.c - what is written: organs into a stage, names into .assemble, θ files into nothing,
 * so that a whole directory of organs can be copied in. Putting a graft in force and assembling
 * wait for the disk, so they run in pools and reply from there. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/metadata_edit.h"
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/model/inode.h"
#include "fs/util/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void reply_rc(struct later *later, ssize_t result)
{
	fuse_reply_err(later->req, (int)-result);
}

static void reply_written(struct later *later, ssize_t result)
{
	if (result < 0)
		fuse_reply_err(later->req, (int)-result);
	else
		fuse_reply_write(later->req, later->size);
}

static ssize_t assemble(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct fuse_ctx *caller = fuse_req_ctx(later->req);
	int rc = turns_take(fs->turns, &later->stop);

	if (rc < 0)
		return rc;
	links_refresh(fs->links, later->handle->node->model);
	rc = caller_assume(caller->uid, caller->gid);
	if (rc == 0) {
		rc = assembly_run(fs_mounted(fs, later->handle->node)->assembly, later->text,
				  caller->pid, &later->stop);
		caller_restore();
	}
	turns_give(fs->turns);
	return rc;
}

/* Each write is a file name, as in sysfs: the newline that echo adds is not part of it. */
static void write_assemble(fuse_req_t req, struct handle *handle, const char *bytes, size_t size)
{
	struct later *later;
	size_t n = size;

	/* Copied from another mount, or from here. */
	if (assembly_is_answer(bytes, size)) {
		fuse_reply_write(req, size);
		return;
	}
	if (n && bytes[n - 1] == '\n')
		n--;
	if (n >= PATH_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	if (memchr(bytes, '\0', n) || memchr(bytes, '\n', n)) {
		log_add(handle->node->model->log, ".assemble: refused: one write is one file name, "
						  "and this one has a line break or a NUL in it");
		fuse_reply_err(req, EINVAL);
		return;
	}
	later = later_new(req, n + 1);
	if (!later)
		return;
	later->act = assemble;
	later->handle = handle;
	later->reply = reply_written;
	memcpy(later->text, bytes, n);
	later->size = size;
	later_submit(later, fs_of(req)->assemblies);
}

#define STAGED_NAME_MAX (NAME_MAX + 32)

/* For messages. */
static const char *staged_name(struct fs *fs, const struct node *node, char text[STAGED_NAME_MAX])
{
	char name[NAME_MAX + 1], path[ORGAN_PATH_MAX];
	uint64_t directory;

	if (node->kind == NODE_KEY_STAGE)
		snprintf(text, STAGED_NAME_MAX, EDIT_DIRECTORY "%s",
			 metadata_key(node->model->metadata, node->index).name);
	else if (node->kind == NODE_SETTING_STAGE) {
		adapters_name(node->model, node->index, name);
		snprintf(text, STAGED_NAME_MAX, "adapters/%s", name);
	} else if (node->kind == NODE_STAGE || node->kind == NODE_EXPERT_STAGE)
		snprintf(text, STAGED_NAME_MAX, "%s",
			 model_organ_path(node->model, node->index, path));
	else if (scratches_name(fs->scratches, node, &directory, name))
		snprintf(text, STAGED_NAME_MAX, "%s/%s",
			 ops_is_metadata(directory)
				 ? "metadata"
				 : class_name((enum organ_class)inode_index(directory)),
			 name);
	else
		snprintf(text, STAGED_NAME_MAX, "a file without a name");
	return text;
}

static ssize_t write_bytes(struct fs *fs, struct node *node, const char *bytes, size_t size,
			   uint64_t offset)
{
	const int rc = stage_write(node->stage, bytes, size, offset);
	char name[STAGED_NAME_MAX];

	if (rc == 0)
		return 0;
	log_add(node->model->log, "%s: cannot be staged in %s: %s", staged_name(fs, node, name),
		layer_path(node->model->layer), strerror(-rc));
	return rc;
}

static ssize_t write_first(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct fuse_ctx *caller = fuse_req_ctx(later->req);
	struct node *node = later->handle->node;

	stage_set_trace(node->stage,
			trace_begin(fs->tracer, caller->pid, caller->uid, caller->gid));
	return write_bytes(fs, node, later->text, later->size, later->offset);
}

/* Before the first write is answered, what else its writer has open is noted: that may take a
 * while, and so is done elsewhere. */
static void write_first_later(fuse_req_t req, struct handle *handle, const char *bytes, size_t size,
			      off_t offset)
{
	struct later *later = later_new(req, size);

	if (!later)
		return;
	later->act = write_first;
	later->reply = reply_written;
	later->handle = handle;
	later->size = size;
	later->offset = (uint64_t)offset;
	memcpy(later->text, bytes, size);
	later_submit(later, fs_of(req)->beginnings);
}

/* It is not the last close of an emptied file that is waited for, or that has come. */
static void expect_no_release(struct fs *fs, struct handle *handle)
{
	if (atomic_exchange(&handle->emptied, false))
		pending_unexpect(fs->emptied);
}

/* May a writer without a name write there (handles.h)? To the kernel the file ends where readers
 * see it end, so that it cannot tell where to append. */
static bool place_nameless(fuse_req_t req, struct handle *handle, const struct fuse_file_info *fi,
			   size_t size, off_t *offset)
{
	struct fs *fs = fs_of(req);
	struct node *node = handle->node;
	char name[STAGED_NAME_MAX];

	if (!handles_may_reach(fs->handles, handle, (uint64_t)*offset + size)) {
		if (!stage_failed(node->stage))
			log_add(node->model->log,
				"%s: refused: opened without its name (through /proc/self/fd, as "
				"Samba does), it cannot be made larger while another program has "
				"it open; remove it first, or try again",
				staged_name(fs, node, name));
		stage_fail(node->stage, -EBUSY);
		return false;
	}
	if (fi->flags & O_APPEND)
		*offset = (off_t)stage_size(node->stage);
	return true;
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	struct trace *trace;
	ssize_t rc;

	(void)ino;
	expect_no_release(fs_of(req), handle);
	handle_begin(handle, fi->writepage ? 0 : fi->lock_owner);
	if (handle->nameless && !place_nameless(req, handle, fi, size, &offset)) {
		fuse_reply_err(req, EBUSY);
		return;
	}
	if (!handle->node->stage) {
		if (ops_drops(handle->node))
			fuse_reply_write(req, size);
		else if (handle->words)
			ops_write_words(req, handle, bytes, size, (uint64_t)offset,
					fi->writepage ? 0 : fi->lock_owner);
		else
			write_assemble(req, handle, bytes, size);
		return;
	}
	trace = stage_trace(handle->node->stage);
	if (!trace) {
		write_first_later(req, handle, bytes, size, offset);
		return;
	}
	trace_unref(trace);
	rc = write_bytes(fs_of(req), handle->node, bytes, size, (uint64_t)offset);
	if (rc < 0)
		fuse_reply_err(req, (int)-rc);
	else
		fuse_reply_write(req, size);
}

int ops_commit(struct fs *fs, struct node *node)
{
	uint64_t directory;
	char name[NAME_MAX + 1];
	size_t n;

	if (node->kind == NODE_STAGE)
		return graft_fill(node->model, node->index, node->stage);
	if (node->kind == NODE_EXPERT_STAGE)
		return ops_commit_expert(node);
	if (node->kind == NODE_KEY_STAGE)
		return edit_fill(node->model, metadata_key(node->model->metadata, node->index).name,
				 node->stage);
	if (node->kind == NODE_SETTING_STAGE) {
		adapters_name(node->model, node->index, name);
		return adapt_write(node->model, name, node->stage);
	}
	if (!scratches_name(fs->scratches, node, &directory, name))
		return 0;
	if (!ops_is_named(node->model, directory, name))
		return 0;
	if (ops_is_metadata(directory))
		return edit_fill(node->model, name, node->stage);
	if (ops_is_adapter_name(directory, name))
		return adapt_write(node->model, name, node->stage);
	n = ops_slot_name(name);
	name[n] = '\0';
	return graft_fill_name(node->model, (enum organ_class)inode_index(directory), name,
			       node->stage);
}

static ssize_t commit(struct later *later)
{
	return ops_commit(fs_of(later->req), later->handle->node);
}

/* Is the file with that name not needed any more? What was written under the name of a slot or key
 * is theirs now, or refused. A key that nothing was written to is still to come. */
static bool is_over(const struct node *node, uint64_t directory, const char *name)
{
	struct value_type type;
	uint32_t i;

	if (!ops_is_named(node->model, directory, name))
		return false;
	return !ops_is_metadata(directory) || stage_written(node->stage) ||
	       stage_failed(node->stage) ||
	       (metadata_find(node->model->metadata, name, &i) && edit_type(node->model, i, &type));
}

void ops_close(struct fs *fs, struct handle *handle)
{
	struct node *node = nodes_get(fs->nodes, handle->node->ino);
	uint64_t directory;
	char name[NAME_MAX + 1];

	expect_no_release(fs, handle);
	handles_close(fs->handles, handle);
	if (node && node->kind == NODE_SCRATCH && stage_opens(node->stage) == 1 &&
	    scratches_name(fs->scratches, node, &directory, name) && is_over(node, directory, name))
		scratches_remove(fs->scratches, directory, name);
	nodes_put(fs->nodes, node);
}

static ssize_t sync_stage(struct later *later)
{
	return stage_sync(later->handle->node->stage);
}

static void act_on_stage(fuse_req_t req, struct handle *handle, ssize_t (*act)(struct later *later),
			 void (*reply)(struct later *later, ssize_t result))
{
	struct later *later = later_new(req, 0);

	if (!later)
		return;
	later->act = act;
	later->reply = reply;
	later->handle = handle;
	later_submit(later, fs_of(req)->commits);
}

/* Nobody is left to be told of a failure but the log. */
static void reply_released(struct later *later, ssize_t result)
{
	(void)result;
	ops_close(fs_of(later->req), later->handle);
	fuse_reply_err(later->req, 0);
}

/* What a map wrote after close(), and no flush has seen, takes effect with the release. */
void ops_commit_and_close(fuse_req_t req, struct handle *handle)
{
	act_on_stage(req, handle, commit, reply_released);
}

static void reply_emptied(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);

	pending_end(fs->emptied);
	reply_released(later, result);
}

/* A string was emptied and nothing else, which is known only now. */
void ops_commit_emptied(fuse_req_t req, struct handle *handle)
{
	struct fs *fs = fs_of(req);
	struct later *later = later_new(req, 0);

	if (!later) {
		pending_end(fs->emptied);
		return;
	}
	later->act = commit;
	later->reply = reply_emptied;
	later->handle = handle;
	later_submit(later, fs->commits);
}

/* Does a file that can be mapped hold nothing yet but its size? numpy.memmap writes the last byte,
 * maps a copy of the descriptor, and closes the first one before anything is in the map. No organ
 * and no value begins with so many zeros; what stays like that is refused with the release. */
static bool awaits_map(struct handle *handle)
{
	static const char zeros[512];
	char start[sizeof(zeros)];
	ssize_t n = 0;

	if (handle->maps)
		n = stage_read(handle->node->stage, start, sizeof(start), 0);
	return n > 0 && memcmp(start, zeros, (size_t)n) == 0;
}

/* One close() of perhaps several of the same descriptor. The last one of a writer puts what is
 * staged in force if it is complete, and refuses it if it is not, after which it may still be
 * completed. A reader, and a writer beside whom another one is at work, leave the stage alone. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	bool last;

	(void)ino;
	if (ops_flush_words(req, handle, fi->lock_owner))
		return;
	last = handle_end(handle, fi->lock_owner);
	if (last && stage_written(handle->node->stage) && !awaits_map(handle)) {
		act_on_stage(req, handle, commit, reply_rc);
		return;
	}
	/* A shell closes one of two descriptors between emptying a file and writing to it, so the
	 * string is not empty before the release; a lookup until then has to wait for that. */
	if (last && ops_is_emptied_string(handle->node) && !atomic_exchange(&handle->emptied, true))
		pending_expect(fs_of(req)->emptied);
	fuse_reply_err(req, 0);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);

	(void)ino;
	(void)datasync;
	if (handle->node->stage)
		act_on_stage(req, handle, sync_stage, reply_rc);
	else
		fuse_reply_err(req, 0);
}
