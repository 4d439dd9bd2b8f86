/* SPDX-License-Identifier: MIT */
/* ops_undo.c - what is written to .undo: words, until the file is closed; then they are obeyed
 * together. That waits for the disk, so it runs in a pool and replies from there. */
#include "fs/edit/undo.h"
#include "fs/fuse/ops_async.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ops_is_undo(const struct node *node)
{
	return node->kind == NODE_GENERATED && node->index == GENERATED_UNDO;
}

void ops_write_words(fuse_req_t req, struct handle *handle, const char *bytes, size_t size,
		     uint64_t offset, uint64_t owner)
{
	const int rc = words_write(handle->words, bytes, size, offset, owner);

	if (rc == 0) {
		fuse_reply_write(req, size);
		return;
	}
	log_add(handle->node->model->log, ".undo: refused: %s; nothing is undone",
		rc == -EINVAL ? "words are written as text, from the first to the last"
			      : strerror(-rc));
	fuse_reply_err(req, -rc);
}

static ssize_t obey(struct later *later)
{
	return undo(later->handle->node->model, later->text);
}

static void reply_flushed(struct later *later, ssize_t result)
{
	fuse_reply_err(later->req, (int)-result);
}

/* The file is closed: of a failure only the log tells. */
static void reply_released(struct later *later, ssize_t result)
{
	(void)result;
	ops_close(fs_of(later->req), later->handle);
	fuse_reply_err(later->req, 0);
}

/* False: nothing was written that says anything. */
static bool obey_later(fuse_req_t req, struct handle *handle, uint64_t owner,
		       void (*reply)(struct later *later, ssize_t result))
{
	char *text = handle->words ? words_take(handle->words, owner) : NULL;
	struct later *later;

	if (!text || !*text) {
		free(text);
		return false;
	}
	later = later_new(req, strlen(text) + 1);
	if (later) {
		strcpy(later->text, text);
		later->act = obey;
		later->reply = reply;
		later->handle = handle;
		later_submit(later, fs_of(req)->commits);
	}
	free(text);
	return true;
}

bool ops_flush_words(fuse_req_t req, struct handle *handle, uint64_t owner)
{
	return obey_later(req, handle, owner, reply_flushed);
}

bool ops_release_words(fuse_req_t req, struct handle *handle)
{
	return obey_later(req, handle, 0, reply_released);
}
