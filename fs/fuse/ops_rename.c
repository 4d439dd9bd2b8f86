/* SPDX-License-Identifier: MIT */
/* ops_rename.c - names in class directories that move, and second names: rename, link. What changes
 * a slot waits for the disk and is answered by a job. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/fuse/ops_async.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_slot(const struct node *node)
{
	return node->kind == NODE_ORGAN || node->kind == NODE_LINK;
}

static bool is_scratch(const struct node *node)
{
	return node->kind == NODE_SCRATCH || node->kind == NODE_SCRATCH_LINK;
}

/* What a job on names works with. */
struct renaming {
	uint64_t directory, new_directory;
	struct model *new_model;
	enum organ_class new_class;
	bool adapter; /* the new name is of a file in adapters that is no organ's */
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1]; /* the latter without ".bin" of a slot */
};

static struct renaming *names_of(struct later *later)
{
	return (struct renaming *)(void *)later->text;
}

/* The directory that the new name is in, for ops_find() and the like. */
static struct node new_directory(const struct renaming *names)
{
	return (struct node){ .ino = names->new_directory,
			      .kind = NODE_CLASS,
			      .index = names->new_class,
			      .model = names->new_model };
}

/* Is it a file in adapters that is no organ's? */
static bool is_adapter(const struct node *node)
{
	return node->kind == NODE_ADAPTER || node->kind == NODE_SETTING;
}

/* What is in a scratch file, or where a link leads that is none of a slot's, is to fill a slot, or
 * become what an adapter has of that name. */
static int fill_from(const struct node *node, struct model *model, bool adapter,
		     enum organ_class klass, const char *name)
{
	const struct content *link = node->content;

	if (adapter)
		return link ? adapt_link(model, name, link->target, link->uid, link->gid)
			    : adapt_write(model, name, node->stage);
	if (node->kind == NODE_SCRATCH_LINK)
		return graft_symlink(model, klass, name, link->target, link->uid, link->gid);
	return graft_fill_name(model, klass, name, node->stage);
}

/* From a scratch file to a slot. */
static ssize_t fill_slot(struct later *later)
{
	const struct renaming *names = names_of(later);
	const int rc = fill_from(later->node, names->new_model, names->adapter, names->new_class,
				 names->new_name);

	if (rc == 0)
		scratches_remove(fs_of(later->req)->scratches, names->directory, names->name);
	return rc;
}

static ssize_t move_slot(struct later *later)
{
	const struct renaming *names = names_of(later);

	return graft_move(later->node->model, later->node->index, names->new_class,
			  names->new_name);
}

/* From a slot to a scratch file. */
static ssize_t set_aside(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	const struct node directory = new_directory(names);
	struct node *organ = later->node;
	/* What adapters make of it stays behind with them. */
	struct node own = { .kind = content_is_link(content_own(organ->content)) ? NODE_LINK
										 : NODE_ORGAN,
			    .index = organ->index,
			    .model = organ->model,
			    .content = content_own(organ->content) };
	int rc;
	struct node *node = ops_set_aside(fs, &directory, names->new_name, &own, &rc);

	if (rc == 0)
		rc = graft_remove(organ->model, organ->index);
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
	const struct node directory = new_directory(names);
	struct node *target;
	bool drops;
	int rc;

	if (is_theta_name(names->new_name)) {
		struct node *none;

		if (scratches_find(fs->scratches, directory.ino, names->new_name, &none) ==
		    SCRATCH_HIDDEN)
			scratches_remove(fs->scratches, directory.ino, names->new_name);
		target = ops_find(fs, &directory, names->new_name, &rc);
		drops = target && ops_drops(target);
		nodes_put(fs->nodes, target);
		if (drops) {
			scratches_remove(fs->scratches, names->directory, names->name);
			return 0;
		}
	}
	return scratches_rename(fs->scratches, names->directory, names->name, directory.ino,
				names->new_name);
}

static void rename_node(fuse_req_t req, struct node *node, struct renaming *names)
{
	struct fs *fs = fs_of(req);
	const size_t slot = ops_slot_name(names->new_name);
	struct later *later;
	int rc = 0;

	if (is_adapter(node))
		rc = -EXDEV;
	else if ((!is_slot(node) && !is_scratch(node)) || (is_slot(node) && names->adapter))
		rc = -EPERM;
	/* As between two filesystems: the tools copy then, which moves no byte either. */
	else if (node->model != names->new_model)
		rc = -EXDEV;
	else if (is_scratch(node) && !slot && !names->adapter)
		rc = rename_scratch(fs, names);
	if (rc < 0 || (is_scratch(node) && !slot && !names->adapter)) {
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, -rc);
		return;
	}
	if (slot)
		names->new_name[slot] = '\0';
	later = later_on(req, node, sizeof(*names),
			 is_scratch(node) ? fill_slot
			 : slot		  ? move_slot
					  : set_aside);
	if (!later)
		return;
	*names_of(later) = *names;
	later->reply = later_renamed;
	later_submit(later, fs->commits);
}

/* The node that is to be renamed, to release. NULL with *rc set. */
static struct node *find_old(struct fs *fs, const struct node *from, const char *name,
			     const struct node *to, const char *new_name, unsigned flags, int *rc)
{
	struct node *target;

	if (flags & RENAME_EXCHANGE || ops_is_dropping(new_name)) {
		*rc = flags & RENAME_EXCHANGE ? -EINVAL : -EPERM;
		return NULL;
	}
	if (flags & RENAME_NOREPLACE) {
		target = ops_find(fs, to, new_name, rc);
		nodes_put(fs->nodes, target);
		if (target) {
			*rc = -EEXIST;
			return NULL;
		}
	}
	return ops_find(fs, from, name, rc);
}

static struct renaming renaming_to(const struct node *directory, const char *new_name)
{
	struct renaming names = { .new_directory = directory->ino,
				  .new_model = directory->model,
				  .new_class = (enum organ_class)directory->index,
				  .adapter = ops_is_adapter_name(directory->ino, new_name) };

	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	return names;
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct node *from = ops_editable(fs, parent, &rc), *node = NULL;
	struct node *to = from ? ops_editable(fs, new_parent, &rc) : NULL;
	struct renaming names;

	if (!from)
		rc = ops_rename_beside(fs, parent, name, new_parent, new_name);
	else if (!to)
		rc = ops_refuse(fs, new_parent, new_name, REFUSED_FILE);
	if (to) {
		node = find_old(fs, from, name, to, new_name, flags, &rc);
		names = renaming_to(to, new_name);
		names.directory = parent;
		snprintf(names.name, sizeof(names.name), "%s", name);
	}
	nodes_put(fs->nodes, from);
	nodes_put(fs->nodes, to);
	if (node && (ops_is_metadata(parent) || ops_is_metadata(new_parent))) {
		if (parent == new_parent) {
			const struct node directory = { .ino = parent,
							.kind = NODE_METADATA,
							.model = node->model };

			ops_rename_key(req, node, &directory, name, new_name);
			return;
		}
		/* The tools copy then. */
		nodes_put(fs->nodes, node);
		node = NULL;
		rc = -EXDEV;
	}
	if (node)
		rename_node(req, node, &names);
	else
		fuse_reply_err(req, -rc);
}

static ssize_t link_node(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	const struct node directory = new_directory(names);
	struct node *node = later->node, *made;
	const size_t slot = ops_slot_name(names->new_name);
	char name[NAME_MAX + 1];
	int rc;

	snprintf(name, sizeof(name), "%.*s", (int)(slot ? slot : NAME_MAX), names->new_name);
	if (is_scratch(node) && node->model != names->new_model)
		return -EXDEV;
	if (is_slot(node) && names->adapter)
		return -EPERM;
	if (is_scratch(node))
		return slot || names->adapter
			       ? fill_from(node, node->model, names->adapter, names->new_class,
					   name)
			       : scratches_add(fs->scratches, directory.ino, name, node);
	if (slot)
		return graft_link(node->model, node->index, names->new_model, names->new_class,
				  name);
	made = ops_set_aside(fs, &directory, name, node, &rc);
	nodes_put(fs->nodes, made);
	return rc;
}

/* The new name may be another inode's: that of the slot that was filled. */
static void reply_linked(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);
	const struct renaming *names = names_of(later);
	const struct node directory = new_directory(names);
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
	int rc;
	struct node *directory = ops_editable(fs, parent, &rc);
	struct node *node = directory ? nodes_get(fs->nodes, ino) : NULL;
	struct renaming names;
	struct later *later;

	if (directory && directory->kind == NODE_METADATA) {
		nodes_put(fs->nodes, node);
		node = NULL;
		rc = -EPERM;
	} else if (directory && !node)
		rc = -ESTALE;
	else if (directory)
		names = renaming_to(directory, name);
	nodes_put(fs->nodes, directory);
	if (node && (ops_is_dropping(name) || (!is_slot(node) && !is_scratch(node)))) {
		nodes_put(fs->nodes, node);
		node = NULL;
		rc = -EPERM;
	}
	if (!node) {
		fuse_reply_err(req, -rc);
		return;
	}
	later = later_on(req, node, sizeof(names), link_node);
	if (!later)
		return;
	*names_of(later) = names;
	later->reply = reply_linked;
	later_submit(later, fs->commits);
}
