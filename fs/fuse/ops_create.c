/* SPDX-License-Identifier: MIT */
/* ops_create.c - names in directories that come and go: create, unlink. A name that ends in
 * .bin is a slot's, any other a scratch file's. What changes a slot waits for the disk and is
 * answered by a job. */
#include "fs/edit/graft.h"
#include "fs/fuse/ops_async.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What desktops drop everywhere. */
bool ops_is_desktop_file(const char *name)
{
	static const char *const names[] = { ".DS_Store", ".directory", "desktop.ini",
					     "Thumbs.db" };

	if (strncmp(name, ".Trash", 6) == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct inode *ops_editable(struct mount *fs, fuse_ino_t ino, int *rc)
{
	struct inode *directory = inodes_get(fs->inodes, ino);

	*rc = !directory ? -ESTALE : !ops_can_graft(fs, directory->model) ? -EROFS : -EPERM;
	if (directory && ops_can_graft(fs, directory->model) &&
	    (directory->kind == NODE_CLASS || directory->kind == NODE_METADATA))
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

struct inode *ops_add_scratch(struct mount *fs, const struct inode *directory, const char *name,
			      const struct inode *made, int *rc)
{
	struct inode *inode = inodes_add(fs->inodes, made);

	*rc = -ENOMEM;
	if (inode) {
		scratch_files_remove(fs->scratches, directory->ino, name);
		*rc = scratch_files_add(fs->scratches, directory->ino, name, inode);
	}
	if (*rc == 0)
		return inode;
	inodes_put(fs->inodes, inode);
	return NULL;
}

struct inode *ops_make_scratch(struct mount *fs, const struct inode *directory, const char *name,
			       struct view *view, int *rc)
{
	struct model *model = directory->model;
	struct inode made = { .ino = inode_new(model), .kind = NODE_SCRATCH, .model = model };

	*rc = -ENOMEM;
	if (view)
		made.stage = stage_new(model->layer, view);
	return made.stage ? ops_add_scratch(fs, directory, name, &made, rc) : NULL;
}

static struct inode *make_empty(struct mount *fs, const struct inode *directory, const char *name,
				int *rc)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct inode *inode = ops_make_scratch(fs, directory, name, empty, rc);

	view_unref(empty);
	return inode;
}

struct inode *ops_keep_as_scratch(struct mount *fs, const struct inode *directory, const char *name,
				  const struct inode *organ, int *rc)
{
	const struct origin origin = { organ->model, organ->index, organ->content };
	struct view *view;
	struct inode *inode = NULL;

	if (organ->kind == NODE_LINK)
		return ops_make_link(fs, directory, name, content_ref(organ->content), rc);
	view = organ_file_view(organ->model, organ->index, organ->content);
	*rc = -ENOMEM;
	if (view)
		inode = make_empty(fs, directory, name, rc);
	if (inode)
		stage_adopt(inode->stage, view, &origin);
	view_unref(view);
	return inode;
}

static void reply_create(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct fuse_entry_param entry = { .ino = inode->ino };

	entry.attr_timeout = ops_attributes(fs, inode, &entry.attr);
	entry.entry_timeout = ops_entry_timeout(fs, inode);
	inodes_count_lookup(fs->inodes, inode);
	if (fuse_reply_create(req, &entry, fi) < 0) {
		inodes_forget(fs->inodes, entry.ino, 1);
		ops_close(fs, open_file_of(fi));
	}
}

/* A θ file that was removed comes back, an organ of another name than the model's tensors have may
 * become a new slot, and anything else is a scratch file. */
static struct inode *create(struct mount *fs, const struct inode *directory, const char *name,
			    int *rc)
{
	struct inode *inode;

	*rc = ops_is_desktop_file(name)		 ? -EPERM
	      : directory->kind == NODE_METADATA ? ops_check_key(directory->model, name)
	      : ops_is_adapter_name(directory->ino, name)
		      ? ops_check_adapter(directory->model, name)
		      : 0;
	if (*rc < 0)
		return NULL;
	if (scratch_files_find(fs->scratches, directory->ino, name, &inode) == SCRATCH_HIDDEN) {
		scratch_files_remove(fs->scratches, directory->ino, name);
		return ops_find(fs, directory, name, rc);
	}
	inode = ops_find(fs, directory, name, rc);
	if (!inode)
		return make_empty(fs, directory, name, rc);
	if (inode->kind == NODE_SINK)
		return inode;
	/* Somebody else was faster. */
	inodes_put(fs->inodes, inode);
	*rc = -EEXIST;
	return NULL;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);
	struct inode *inode = directory ? create(fs, directory, name, &rc)
					: ops_create_beside(fs, parent, name, &rc);

	(void)mode;
	inodes_put(fs->inodes, directory);
	if (inode) {
		rc = ops_open(req, inode, fi);
		if (rc == 0) {
			reply_create(req, inode, fi);
			return;
		}
		inodes_put(fs->inodes, inode);
	}
	fuse_reply_err(req, -rc);
}

static ssize_t remove_organ(struct async_request *async)
{
	return graft_remove(async->inode->model, async->inode->index);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *directory = ops_editable(fs, parent, &rc);
	struct inode *inode = directory ? ops_find(fs, directory, name, &rc) : NULL;
	struct async_request *async;

	if (!directory)
		rc = ops_remove_beside(fs, parent, name);
	inodes_put(fs->inodes, directory);
	if (inode && (inode->kind == NODE_ORGAN || inode->kind == NODE_LINK)) {
		async = async_new_on(req, inode, 0, remove_organ);
		if (async)
			async_submit(async, fs->commits);
		return;
	}
	if (inode && inode->kind == NODE_KEY) {
		ops_remove_key(req, inode);
		return;
	}
	if (inode && (inode->kind == NODE_ADAPTER || inode->kind == NODE_SETTING)) {
		ops_remove_adapter(req, inode);
		return;
	}
	if (inode && (inode->kind == NODE_SCRATCH || inode->kind == NODE_SCRATCH_LINK))
		rc = scratch_files_remove(fs->scratches, parent, name) ? 0 : -ENOENT;
	else if (inode)
		rc = inode->kind == NODE_SINK
			     ? 0
			     : scratch_files_add(fs->scratches, parent, name, NULL);
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, -rc);
}

/* A regular file, which tar makes so to set its attributes before it opens it. */
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct mount *fs = mount_of(req);
	struct inode *directory, *inode;
	int rc;

	(void)device;
	if (!S_ISREG(mode)) {
		fuse_reply_err(req, fs->options->read_only ? EROFS : EPERM);
		return;
	}
	directory = ops_editable(fs, parent, &rc);
	inode = directory ? create(fs, directory, name, &rc)
			  : ops_create_beside(fs, parent, name, &rc);
	inodes_put(fs->inodes, directory);
	if (inode)
		ops_reply_entry(req, inode);
	else
		fuse_reply_err(req, -rc);
	inodes_put(fs->inodes, inode);
}
