/* SPDX-License-Identifier: MIT */
/* ops_undo.c - what is written to .undo: words, until the file is closed; then they are obeyed
 * together. That waits for the disk, so it runs in a pool and replies from there. */
#include "fs/edit/undo.h"
#include "fs/fuse/ops_async.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ops_write_undo(fuse_req_t req, struct open_file *handle, const char *bytes, size_t size,
		    uint64_t offset, uint64_t owner)
{
	const int rc = undo_words_write(handle->words, bytes, size, offset, owner);

	if (rc == 0) {
		fuse_reply_write(req, size);
		return;
	}
	log_add(handle->inode->model->log, ".undo: refused: %s; nothing is undone",
		rc == -EINVAL ? "words are written as text, from the first to the last"
			      : strerror(-rc));
	fuse_reply_err(req, -rc);
}

static ssize_t run_undo(struct async_request *async)
{
	return undo(async->handle->inode->model, async->text);
}

/* False: nothing was written that says anything. */
static bool run_undo_async(fuse_req_t req, struct open_file *handle, uint64_t owner,
			   void (*reply)(struct async_request *async, ssize_t result))
{
	char *text = handle->words ? undo_words_take(handle->words, owner) : NULL;
	struct async_request *async;

	if (!text || !*text) {
		free(text);
		return false;
	}
	async = async_new(req, NULL, run_undo, text, strlen(text));
	if (async) {
		async->reply = reply;
		async->handle = handle;
		async_submit(async, mount_of(req)->commits);
	}
	free(text);
	return true;
}

bool ops_flush_undo(fuse_req_t req, struct open_file *handle, uint64_t owner)
{
	return run_undo_async(req, handle, owner, async_reply);
}

bool ops_release_undo(fuse_req_t req, struct open_file *handle)
{
	return run_undo_async(req, handle, 0, ops_reply_released);
}
