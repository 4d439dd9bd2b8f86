/* SPDX-License-Identifier: MIT */
/* ops_edit.c - names in directories that come and go: create, unlink. A name that ends in
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
bool ops_is_dropping(const char *name)
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

struct node *ops_editable(struct fs *fs, fuse_ino_t ino, int *rc)
{
	struct node *directory = nodes_get(fs->nodes, ino);

	*rc = !directory ? -ESTALE : !ops_can_graft(fs, directory->model) ? -EROFS : -EPERM;
	if (directory && ops_can_graft(fs, directory->model) &&
	    (directory->kind == NODE_CLASS || directory->kind == NODE_METADATA))
		return directory;
	nodes_put(fs->nodes, directory);
	return NULL;
}

struct node *ops_add_scratch(struct fs *fs, const struct node *directory, const char *name,
			     const struct node *made, int *rc)
{
	struct node *node = nodes_add(fs->nodes, made);

	*rc = -ENOMEM;
	if (node) {
		scratches_remove(fs->scratches, directory->ino, name);
		*rc = scratches_add(fs->scratches, directory->ino, name, node);
	}
	if (*rc == 0)
		return node;
	nodes_put(fs->nodes, node);
	return NULL;
}

struct node *ops_make_scratch(struct fs *fs, const struct node *directory, const char *name,
			      struct view *view, int *rc)
{
	struct model *model = directory->model;
	struct node made = { .ino = inode_new(model), .kind = NODE_SCRATCH, .model = model };

	*rc = -ENOMEM;
	if (view)
		made.stage = stage_new(model->layer, view);
	return made.stage ? ops_add_scratch(fs, directory, name, &made, rc) : NULL;
}

static struct node *make_empty(struct fs *fs, const struct node *directory, const char *name,
			       int *rc)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct node *node = ops_make_scratch(fs, directory, name, empty, rc);

	view_unref(empty);
	return node;
}

struct node *ops_set_aside(struct fs *fs, const struct node *directory, const char *name,
			   const struct node *organ, int *rc)
{
	const struct origin origin = { organ->model, organ->index, organ->content };
	struct view *view;
	struct node *node = NULL;

	if (organ->kind == NODE_LINK)
		return ops_make_link(fs, directory, name, content_ref(organ->content), rc);
	view = files_organ(organ->model, organ->index, organ->content);
	*rc = -ENOMEM;
	if (view)
		node = make_empty(fs, directory, name, rc);
	if (node)
		stage_adopt(node->stage, view, &origin);
	view_unref(view);
	return node;
}

static void reply_create(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry = { .ino = node->ino };

	entry.attr_timeout = ops_attributes(fs, node, &entry.attr);
	entry.entry_timeout = ops_entry_timeout(fs, node);
	nodes_told(fs->nodes, node);
	if (fuse_reply_create(req, &entry, fi) < 0) {
		nodes_forget(fs->nodes, entry.ino, 1);
		ops_close(fs, handle_of(fi));
	}
}

/* A θ file that was removed comes back, an organ of another name than the model's tensors have may
 * become a new slot, and anything else is a scratch file. */
static struct node *create(struct fs *fs, const struct node *directory, const char *name, int *rc)
{
	struct node *node;

	*rc = ops_is_dropping(name)		 ? -EPERM
	      : directory->kind == NODE_METADATA ? ops_check_key(directory->model, name)
	      : ops_is_adapter_name(directory->ino, name)
		      ? ops_check_adapter(directory->model, name)
		      : 0;
	if (*rc < 0)
		return NULL;
	if (scratches_find(fs->scratches, directory->ino, name, &node) == SCRATCH_HIDDEN) {
		scratches_remove(fs->scratches, directory->ino, name);
		return ops_find(fs, directory, name, rc);
	}
	node = ops_find(fs, directory, name, rc);
	if (!node)
		return make_empty(fs, directory, name, rc);
	if (node->kind == NODE_SINK)
		return node;
	/* Somebody else was faster. */
	nodes_put(fs->nodes, node);
	*rc = -EEXIST;
	return NULL;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct node *directory = ops_editable(fs, parent, &rc);
	struct node *node = directory ? create(fs, directory, name, &rc)
				      : ops_create_beside(fs, parent, name, &rc);

	(void)mode;
	nodes_put(fs->nodes, directory);
	if (node) {
		rc = ops_open(req, node, fi);
		if (rc == 0) {
			reply_create(req, node, fi);
			return;
		}
		nodes_put(fs->nodes, node);
	}
	fuse_reply_err(req, -rc);
}

static ssize_t remove_organ(struct later *later)
{
	return graft_remove(later->node->model, later->node->index);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct node *directory = ops_editable(fs, parent, &rc);
	struct node *node = directory ? ops_find(fs, directory, name, &rc) : NULL;
	struct later *later;

	if (!directory)
		rc = ops_remove_beside(fs, parent, name);
	nodes_put(fs->nodes, directory);
	if (node && (node->kind == NODE_ORGAN || node->kind == NODE_LINK)) {
		later = later_on(req, node, 0, remove_organ);
		if (later)
			later_submit(later, fs->commits);
		return;
	}
	if (node && node->kind == NODE_KEY) {
		ops_remove_key(req, node);
		return;
	}
	if (node && (node->kind == NODE_ADAPTER || node->kind == NODE_SETTING)) {
		ops_remove_adapter(req, node);
		return;
	}
	if (node && (node->kind == NODE_SCRATCH || node->kind == NODE_SCRATCH_LINK))
		rc = scratches_remove(fs->scratches, parent, name) ? 0 : -ENOENT;
	else if (node)
		rc = node->kind == NODE_SINK ? 0
					     : scratches_add(fs->scratches, parent, name, NULL);
	nodes_put(fs->nodes, node);
	fuse_reply_err(req, -rc);
}

/* A regular file, which tar makes so to set its attributes before it opens it. */
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct fs *fs = fs_of(req);
	struct node *directory, *node;
	int rc;

	(void)device;
	if (!S_ISREG(mode)) {
		fuse_reply_err(req, fs->options->read_only ? EROFS : EPERM);
		return;
	}
	directory = ops_editable(fs, parent, &rc);
	node = directory ? create(fs, directory, name, &rc)
			 : ops_create_beside(fs, parent, name, &rc);
	nodes_put(fs->nodes, directory);
	if (node)
		ops_reply_entry(req, node);
	else
		fuse_reply_err(req, -rc);
	nodes_put(fs->nodes, node);
}
