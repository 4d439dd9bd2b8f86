/* SPDX-License-Identifier: MIT */
/* ops_write.c - what is written: organs into a stage, names into .assemble. Putting a graft in
 * force and assembling wait for the disk, so they run in pools and reply from there. */
#include "fs/caller.h"
#include "fs/graft.h"
#include "fs/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A request that is answered by a job. */
struct later {
	fuse_req_t req;
	struct handle *handle;
	size_t size; /* of what was written */
	atomic_bool cancel;
	char path[PATH_MAX];
};

static void submit(struct pool *pool, void (*job)(void *), struct later *later)
{
	const int rc = later ? pool_submit(pool, job, later) : -ENOMEM;

	if (rc < 0 && later) {
		fuse_reply_err(later->req, -rc);
		free(later);
	}
}

static struct later *make_later(fuse_req_t req, struct handle *handle)
{
	struct later *later = calloc(1, sizeof(*later));

	if (!later) {
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	later->req = req;
	later->handle = handle;
	atomic_init(&later->cancel, false);
	return later;
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct later *later = data;

	(void)req;
	atomic_store(&later->cancel, true);
}

static void assemble_job(void *argument)
{
	struct later *later = argument;
	struct fs *fs = fs_of(later->req);
	const struct fuse_ctx *caller = fuse_req_ctx(later->req);
	int rc = caller_assume(caller->uid, caller->gid);

	if (rc == 0) {
		rc = assembly_run(fs->assembly, later->path, caller->pid, &later->cancel);
		caller_restore();
	}
	fuse_req_interrupt_func(later->req, NULL, NULL);
	if (rc < 0)
		fuse_reply_err(later->req, -rc);
	else
		fuse_reply_write(later->req, later->size);
	free(later);
}

/* Each write is a file name, as in sysfs: the newline that echo adds is not part of it. */
static void write_assemble(fuse_req_t req, struct handle *handle, const char *bytes, size_t size)
{
	struct later *later;
	size_t n = size;

	if (n && bytes[n - 1] == '\n')
		n--;
	if (n >= PATH_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	if (memchr(bytes, '\0', n) || memchr(bytes, '\n', n)) {
		log_add(fs_of(req)->log, ".assemble: refused: one write is one file name, "
					 "and this one has a line break or a NUL in it");
		fuse_reply_err(req, EINVAL);
		return;
	}
	later = make_later(req, handle);
	if (!later)
		return;
	memcpy(later->path, bytes, n);
	later->size = size;
	fuse_req_interrupt_func(req, on_interrupt, later);
	submit(fs_of(req)->assemblies, assemble_job, later);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	char path[ORGAN_PATH_MAX];
	int rc;

	(void)ino;
	if (handle->node->kind != NODE_STAGE) {
		write_assemble(req, handle, bytes, size);
		return;
	}
	rc = stage_write(handle->node->stage, bytes, size, (uint64_t)offset);
	if (rc < 0) {
		log_add(fs_of(req)->log, "%s: cannot be staged in %s: %s",
			model_organ_path(fs_of(req)->model, handle->node->index, path),
			layer_path(fs_of(req)->model->layer), strerror(-rc));
		fuse_reply_err(req, -rc);
	} else {
		fuse_reply_write(req, size);
	}
}

static void commit_job(void *argument)
{
	struct later *later = argument;
	struct fs *fs = fs_of(later->req);
	struct node *node = later->handle->node;

	fuse_reply_err(later->req, -graft_fill(fs->model, node->index, node->stage));
	free(later);
}

/* One close() of perhaps several of the same descriptor: what is complete takes effect now, what is
 * not is refused, and may still be completed. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);

	(void)ino;
	if (handle->node->kind == NODE_STAGE && stage_written(handle->node->stage))
		submit(fs_of(req)->commits, commit_job, make_later(req, handle));
	else
		fuse_reply_err(req, 0);
}

static void sync_job(void *argument)
{
	struct later *later = argument;

	fuse_reply_err(later->req, -stage_sync(later->handle->node->stage));
	free(later);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);

	(void)ino;
	(void)datasync;
	if (handle->node->kind == NODE_STAGE)
		submit(fs_of(req)->commits, sync_job, make_later(req, handle));
	else
		fuse_reply_err(req, 0);
}
