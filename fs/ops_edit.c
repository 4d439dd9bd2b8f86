/* SPDX-License-Identifier: MIT */
/* ops_edit.c - changes of names in class directories: create, unlink, rename, link. A name that
 * ends in .bin is a slot's, any other a scratch file's. What changes a slot waits for the disk and
 * is answered by a job. */
#include "fs/files.h"
#include "fs/graft.h"
#include "fs/inode.h"
#include "fs/ops_later.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What desktops drop everywhere. */
static bool is_dropping(const char *name)
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

/* The class of a directory in which names can be changed; else -errno. */
static int class_of(struct fs *fs, fuse_ino_t parent)
{
	if (fs->options->read_only)
		return -EROFS;
	return inode_is_class(parent) ? (int)(parent - INODE_CLASS) : -EPERM;
}

/* The node of a new file that shows view, entered under a name; to release. NULL with *rc set. */
static struct node *make_scratch(struct fs *fs, enum organ_class klass, const char *name,
				 struct view *view, int *rc)
{
	struct node made = { .ino = inode_new(fs->model), .kind = NODE_SCRATCH };
	struct node *node = NULL;

	*rc = -ENOMEM;
	if (view)
		made.stage = stage_new(fs->model->layer, view);
	if (made.stage)
		node = nodes_add(fs->nodes, &made);
	if (node) {
		scratches_remove(fs->scratches, klass, name);
		*rc = scratches_add(fs->scratches, klass, name, node);
	}
	if (*rc == 0)
		return node;
	nodes_put(fs->nodes, node);
	return NULL;
}

static struct node *make_empty(struct fs *fs, enum organ_class klass, const char *name, int *rc)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct node *node = make_scratch(fs, klass, name, empty, rc);

	view_unref(empty);
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
static struct node *create(struct fs *fs, enum organ_class klass, const char *name, int *rc)
{
	const struct node directory = { .ino = INODE_CLASS + (uint64_t)klass,
					.kind = NODE_CLASS,
					.index = klass };
	struct node *node;

	if (is_dropping(name)) {
		*rc = -EPERM;
		return NULL;
	}
	if (scratches_find(fs->scratches, klass, name, &node) == SCRATCH_HIDDEN) {
		scratches_remove(fs->scratches, klass, name);
		return ops_find(fs, &directory, name, rc);
	}
	node = ops_find(fs, &directory, name, rc);
	if (!node)
		return make_empty(fs, klass, name, rc);
	/* Somebody else was faster. */
	nodes_put(fs->nodes, node);
	*rc = -EEXIST;
	return NULL;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	const int klass = class_of(fs, parent);
	struct node *node = NULL;
	int rc = klass;

	(void)mode;
	if (klass >= 0)
		node = create(fs, (enum organ_class)klass, name, &rc);
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

/* What a job on names works with. */
struct renaming {
	enum organ_class klass, new_class;
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1]; /* without ".bin" where it is a slot's */
};

static struct renaming *names_of(struct later *later)
{
	return (struct renaming *)(void *)later->text;
}

static void reply_done(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);

	nodes_put(fs->nodes, later->node);
	fuse_reply_err(later->req, (int)-result);
}

/* A job for a request about a node, which is released with the reply. */
static struct later *edit_later(fuse_req_t req, struct node *node,
				ssize_t (*act)(struct later *later))
{
	struct later *later = later_new(req, sizeof(struct renaming));

	if (!later) {
		nodes_put(fs_of(req)->nodes, node);
		return NULL;
	}
	later->act = act;
	later->reply = reply_done;
	later->node = node;
	return later;
}

static ssize_t remove_organ(struct later *later)
{
	return graft_remove(fs_of(later->req)->model, later->node->index);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	const int klass = class_of(fs, parent);
	const struct node directory = { .ino = parent,
					.kind = NODE_CLASS,
					.index = (uint32_t)klass };
	struct node *node = NULL;
	struct later *later;
	int rc = klass;

	if (klass >= 0)
		node = ops_find(fs, &directory, name, &rc);
	if (node && node->kind == NODE_ORGAN) {
		later = edit_later(req, node, remove_organ);
		if (later)
			later_submit(later, fs->commits);
		return;
	}
	if (node && node->kind == NODE_SCRATCH)
		rc = scratches_remove(fs->scratches, (enum organ_class)klass, name) ? 0 : -ENOENT;
	else if (node)
		rc = scratches_add(fs->scratches, (enum organ_class)klass, name, NULL);
	nodes_put(fs->nodes, node);
	fuse_reply_err(req, -rc);
}

/* rename(2) says EINVAL of a directory that is moved into itself, and so do the tools. */
static void reply_renamed(struct later *later, ssize_t result)
{
	reply_done(later, result == -EINVAL ? -EPERM : result);
}

/* From a scratch file to a slot. */
static ssize_t fill_slot(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	const int rc =
		graft_fill_name(fs->model, names->new_class, names->new_name, later->node->stage);

	if (rc == 0)
		scratches_remove(fs->scratches, names->klass, names->name);
	return rc;
}

static ssize_t move_slot(struct later *later)
{
	const struct renaming *names = names_of(later);

	return graft_move(fs_of(later->req)->model, later->node->index, names->new_class,
			  names->new_name);
}

/* From a slot to a scratch file. */
static ssize_t set_aside(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	struct view *view = files_organ(fs->model, later->node->index, later->node->content);
	int rc = -ENOMEM;
	struct node *node = make_scratch(fs, names->new_class, names->new_name, view, &rc);

	view_unref(view);
	if (rc == 0)
		rc = graft_remove(fs->model, later->node->index);
	nodes_put(fs->nodes, node);
	return rc;
}

static bool is_theta_name(const char *name)
{
	const size_t n = strlen(name);

	return n >= 6 && strcmp(name + n - 6, ".theta") == 0;
}

/* A scratch file goes under another name that is no slot's. What becomes of a θ file is known. */
static int rename_scratch(struct fs *fs, const struct renaming *names)
{
	const struct node directory = { .ino = INODE_CLASS + (uint64_t)names->new_class,
					.kind = NODE_CLASS,
					.index = names->new_class };
	struct node *target;
	int rc;

	if (is_theta_name(names->new_name)) {
		struct node *none;

		if (scratches_find(fs->scratches, names->new_class, names->new_name, &none) ==
		    SCRATCH_HIDDEN)
			scratches_remove(fs->scratches, names->new_class, names->new_name);
		target = ops_find(fs, &directory, names->new_name, &rc);
		nodes_put(fs->nodes, target);
		if (target && ops_is_theta(target)) {
			scratches_remove(fs->scratches, names->klass, names->name);
			return 0;
		}
	}
	return scratches_rename(fs->scratches, names->klass, names->name, names->new_class,
				names->new_name);
}

static void rename_node(fuse_req_t req, struct node *node, struct renaming *names)
{
	struct fs *fs = fs_of(req);
	const size_t slot = ops_slot_name(names->new_name);
	struct later *later;

	if (node->kind != NODE_ORGAN && node->kind != NODE_SCRATCH) {
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, EPERM);
		return;
	}
	if (node->kind == NODE_SCRATCH && !slot) {
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, -rename_scratch(fs, names));
		return;
	}
	later = edit_later(req, node,
			   node->kind == NODE_SCRATCH ? fill_slot
			   : slot		      ? move_slot
						      : set_aside);
	if (!later)
		return;
	later->reply = reply_renamed;
	*names_of(later) = *names;
	if (slot)
		names_of(later)->new_name[slot] = '\0';
	later_submit(later, fs->commits);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	const int klass = class_of(fs, parent), new_class = class_of(fs, new_parent);
	struct node from = { .ino = parent, .kind = NODE_CLASS, .index = (uint32_t)klass };
	struct node to = { .ino = new_parent, .kind = NODE_CLASS, .index = (uint32_t)new_class };
	struct node *node, *target;
	struct renaming names;
	int rc = klass < 0 ? klass : new_class;

	if (rc >= 0)
		rc = flags & RENAME_EXCHANGE ? -EINVAL : is_dropping(new_name) ? -EPERM : 0;
	if (rc == 0 && flags & RENAME_NOREPLACE) {
		target = ops_find(fs, &to, new_name, &rc);
		nodes_put(fs->nodes, target);
		rc = target ? -EEXIST : 0;
	}
	node = rc == 0 ? ops_find(fs, &from, name, &rc) : NULL;
	if (!node) {
		fuse_reply_err(req, -rc);
		return;
	}
	names.klass = (enum organ_class)klass;
	names.new_class = (enum organ_class)new_class;
	snprintf(names.name, sizeof(names.name), "%s", name);
	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	rename_node(req, node, &names);
}

static ssize_t link_node(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	struct node *node = later->node, *made;
	char name[NAME_MAX + 1];
	const size_t slot = ops_slot_name(names->new_name);
	struct view *view;
	int rc;

	snprintf(name, sizeof(name), "%.*s", (int)(slot ? slot : NAME_MAX), names->new_name);
	if (node->kind == NODE_SCRATCH)
		return slot ? graft_fill_name(fs->model, names->new_class, name, node->stage)
			    : scratches_add(fs->scratches, names->new_class, name, node);
	if (slot)
		return graft_link(fs->model, node->index, names->new_class, name);
	view = files_organ(fs->model, node->index, node->content);
	made = make_scratch(fs, names->new_class, name, view, &rc);
	view_unref(view);
	nodes_put(fs->nodes, made);
	return rc;
}

/* The new name may be another inode's: that of the slot that was filled. */
static void reply_linked(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	const struct node directory = { .ino = INODE_CLASS + (uint64_t)names->new_class,
					.kind = NODE_CLASS,
					.index = names->new_class };
	struct node *node = NULL;
	int rc = (int)result;

	nodes_put(fs->nodes, later->node);
	if (rc == 0)
		node = ops_find(fs, &directory, names->new_name, &rc);
	if (node)
		ops_reply_entry(later->req, node);
	else
		fuse_reply_err(later->req, -rc);
	nodes_put(fs->nodes, node);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	const int klass = class_of(fs, parent);
	struct node *node = nodes_get(fs->nodes, ino);
	struct later *later;
	int rc = klass < 0 ? klass : 0;

	if (rc == 0 && !node)
		rc = -ESTALE;
	if (rc == 0 &&
	    (is_dropping(name) || (node->kind != NODE_ORGAN && node->kind != NODE_SCRATCH)))
		rc = -EPERM;
	if (rc < 0) {
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, -rc);
		return;
	}
	later = edit_later(req, node, link_node);
	if (!later)
		return;
	later->reply = reply_linked;
	names_of(later)->new_class = (enum organ_class)klass;
	snprintf(names_of(later)->new_name, NAME_MAX + 1, "%s", name);
	later_submit(later, fs->commits);
}

static void refuse(fuse_req_t req)
{
	fuse_reply_err(req, fs_of(req)->options->read_only ? EROFS : EPERM);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	refuse(req);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)device;
	refuse(req);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	refuse(req);
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	refuse(req);
}
