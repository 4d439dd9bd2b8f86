/* SPDX-License-Identifier: MIT */
/* ops_rename.c - rename in class directories and metadata. A change of a slot or key waits for the
 * disk and is answered by a job. */
#include "fs/edit/graft.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/fuse/ops.h"
#include "fs/metadata/metadata.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "fs/tree/family.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Argument of a job: the old name, and the new one with its directory's inode for tree_find(). */
struct renaming {
	uint64_t from;
	struct inode to;
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1];
};

static const struct renaming *names_of(struct async_request *async)
{
	return (const struct renaming *)(const void *)async->text;
}

/* Whether the new name is that of a slot or key. */
static bool is_named(const struct inode *inode, const struct renaming *names)
{
	return tree_is_named(inode->model, names->to.ino, names->new_name);
}

static struct file_name old_of(const struct renaming *names)
{
	return (struct file_name){ names->from, names->name };
}

static struct file_name new_of(const struct renaming *names)
{
	return (struct file_name){ names->to.ino, names->new_name };
}

/* After success, unlink both names from files that are or were to become the slot or key, so that a
 * file's shared map does not fill the slot again. */
static int displace(struct mount *fs, const struct renaming *names, int rc)
{
	if (rc == 0) {
		scratch_files_remove(fs->scratches, names->from, names->name);
		scratch_files_remove(fs->scratches, names->to.ino, names->new_name);
	}
	return rc;
}

static ssize_t move_slot(struct async_request *async)
{
	const struct renaming *names = names_of(async);
	char slot[NAME_MAX + 1];

	snprintf(slot, sizeof(slot), "%.*s", (int)tree_slot_name(names->new_name), names->new_name);
	return displace(async->fs, names,
			graft_move(async->inode->model, async->inode->index,
				   (enum organ_class)names->to.index, slot));
}

static ssize_t move_key(struct async_request *async)
{
	const struct renaming *names = names_of(async);

	return displace(async->fs, names,
			metadata_edit_move(async->inode->model, async->inode->index,
					   names->new_name));
}

/* Give the scratch file its name if rc is 0, else drop it. Returns rc. */
static int end_aside(struct mount *fs, struct inode *inode, struct scratch_file *aside, int rc)
{
	if (rc == 0)
		scratch_files_enter(fs->scratches, aside);
	else
		scratch_files_drop(fs->scratches, aside);
	inodes_put(fs->inodes, inode);
	return rc;
}

/* Move a slot's content to a scratch file. */
static int try_slot_aside(struct mount *fs, const struct inode *slot, const struct renaming *names,
			  bool *moved_on)
{
	/* The file gets the slot's own content, without the effect of adapters. */
	struct inode own = { .index = slot->index,
			     .model = slot->model,
			     .content = slots_get_own(slot->model->slots, slot->index) };
	struct scratch_file *aside = NULL;
	struct inode *inode = NULL;
	int rc = -ENOENT;

	if (!content_is_whiteout(own.content))
		inode = tree_keep_as_scratch(&fs->tree, &names->to, NULL, &own, &rc);
	if (inode) {
		aside = scratch_files_prepare(fs->scratches, names->to.ino, names->new_name, inode);
		rc = aside ? graft_remove_if(own.model, own.index, own.content, moved_on) : -ENOMEM;
	}
	rc = end_aside(fs, inode, aside, rc);
	content_unref(own.content);
	return rc;
}

/* Move a key's value to a scratch file, which keeps the type for a key that is made again. */
static int try_key_aside(struct mount *fs, const struct inode *key, const struct renaming *names,
			 bool *moved_on)
{
	struct scratch_file *aside = NULL;
	struct inode *inode = NULL;
	int rc;
	struct metadata_entry *metadatum = metadata_get(key->model->metadata, key->index, &rc);
	struct view *view = metadatum ? metadata_entry_view(metadatum, &rc) : NULL;

	if (view)
		inode = tree_make_scratch(&fs->tree, &names->to, NULL, view, &rc);
	if (inode) {
		stage_set_type(inode->stage, STAGE_WAS, metadata_entry_value(metadatum)->type);
		aside = scratch_files_prepare(fs->scratches, names->to.ino, names->new_name, inode);
		rc = aside ? metadata_edit_remove_if(key->model, key->index, metadatum, moved_on)
			   : -ENOMEM;
	}
	rc = end_aside(fs, inode, aside, rc);
	metadata_entry_unref(metadatum);
	return rc;
}

/* The rename removes exactly the content that the scratch file holds: it starts again if another
 * thread has changed the slot or key meanwhile. */
static ssize_t set_aside(struct async_request *async)
{
	const struct renaming *names = names_of(async);
	const bool key = tree_is_metadata(names->from);
	bool moved_on;
	int rc;

	do {
		moved_on = false;
		rc = (key ? try_key_aside : try_slot_aside)(async->fs, async->inode, names,
							    &moved_on);
	} while (moved_on);
	if (rc == 0)
		scratch_files_remove(async->fs->scratches, names->from, names->name);
	return rc;
}

/* Check whether the rename is allowed. On -EXDEV the tools copy, which moves no bytes. */
static int check(struct mount *fs, const struct inode *inode, const struct renaming *names)
{
	const struct family *family = family_of(inode);
	const struct inode *to = &names->to;

	if (tree_is_metadata(names->from) || tree_is_metadata(to->ino))
		return names->from == to->ino ? 0 : -EXDEV;
	if (family->exdev)
		return -EXDEV;
	if (!family->scratch && (!family->slot || tree_is_adapter_name(to->ino, names->new_name)))
		return ops_refuse(fs, names->from, names->name, REFUSED_RENAME);
	if (inode->model != to->model)
		return -EXDEV;
	/* A slot's content must not be discarded. */
	return !family->scratch && !is_named(inode, names) &&
			       tree_is_dropped(&fs->tree, to, names->new_name)
		       ? ops_refuse(fs, names->from, names->name, REFUSED_RENAME)
		       : 0;
}

/* Rename a scratch file to a name that is no slot's; a name that the tree discards removes it. */
static int rename_scratch(struct mount *fs, const struct inode *inode, const struct renaming *names)
{
	const struct inode *to = &names->to;
	const int rc = tree_check_private(inode, to->ino, names->new_name);

	if (rc < 0)
		return rc;
	if (tree_is_dropped(&fs->tree, to, names->new_name)) {
		scratch_files_remove(fs->scratches, names->from, names->name);
		return 0;
	}
	return scratch_files_rename(fs->scratches, names->from, names->name, to->ino,
				    names->new_name);
}

/* Fill a slot or key with a scratch file. */
static int fill(struct mount *fs, const struct inode *inode, const struct renaming *names)
{
	const struct file_name old = old_of(names), new = new_of(names);
	const int rc = tree_fill(inode, names->to.ino, names->new_name);

	if (rc == 0)
		scratch_files_place(fs->scratches, inode, &old, &new);
	return rc;
}

static ssize_t rename_now(struct async_request *async)
{
	const struct renaming *names = names_of(async);
	struct inode *inode = async->inode;
	const bool scratch = family_of(inode)->scratch;

	if (!is_named(inode, names))
		return scratch ? rename_scratch(async->fs, inode, names) : set_aside(async);
	if (scratch)
		return fill(async->fs, inode, names);
	return tree_is_metadata(names->to.ino) ? move_key(async) : move_slot(async);
}

/* Rename the inode that the name has once the name lock is held: a file may have become the slot or
 * key of its name since the request. */
static ssize_t rename_named(struct async_request *async)
{
	const struct renaming *names = names_of(async);
	struct name_lock lock = { .names = { old_of(names), new_of(names) } };
	struct mount *fs = async->fs;
	struct inode *inode;
	ssize_t result;
	int rc;

	name_locks_take(fs->names, &lock);
	inode = ops_find_in(fs, names->from, names->name, &rc);
	if (inode) {
		inodes_put(fs->inodes, async->inode);
		async->inode = inode;
		rc = check(fs, inode, names);
	}
	result = rc == 0 ? rename_now(async) : rc;
	name_locks_release(fs->names, &lock);
	return result;
}

/* The tools take EINVAL of rename(2) for a directory that is moved into itself. */
static void reply_renamed(struct async_request *async, ssize_t result)
{
	async_reply(async, result == -EINVAL ? -EPERM : result);
}

static void rename_node(fuse_req_t req, struct inode *inode, const struct renaming *names)
{
	struct mount *fs = mount_of(req);
	const bool scratch = family_of(inode)->scratch;
	/* Neither of the names is a slot's or key's, and the content is not checked. */
	const bool at_once = scratch && !is_named(inode, names) &&
			     tree_holds_anything(names->to.ino, names->new_name) &&
			     !tree_is_named(inode->model, names->from, names->name);
	struct async_request *async;
	int rc = check(fs, inode, names);

	if (rc == 0 && at_once)
		rc = rename_scratch(fs, inode, names);
	if (rc < 0 || at_once) {
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
		return;
	}
	async = async_new(req, inode, rename_named, names, sizeof(*names));
	if (!async)
		return;
	async->reply = reply_renamed;
	async_submit(async, fs->commits);
}

/* The inode that is to be renamed, to release. NULL with *rc set. */
static struct inode *find_old(struct mount *fs, const struct inode *from, const char *name,
			      const struct inode *to, const char *new_name, unsigned flags, int *rc)
{
	struct inode *target;

	if (flags & RENAME_EXCHANGE || ops_is_desktop_file(new_name)) {
		*rc = flags & RENAME_EXCHANGE ? -EINVAL : -EPERM;
		return NULL;
	}
	if (flags & RENAME_NOREPLACE) {
		target = tree_find(&fs->tree, to, new_name, rc);
		inodes_put(fs->inodes, target);
		if (target) {
			*rc = -EEXIST;
			return NULL;
		}
	}
	return tree_find(&fs->tree, from, name, rc);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *from = ops_editable(fs, parent, &rc), *inode = NULL;
	struct inode *to = from ? ops_editable(fs, new_parent, &rc) : NULL;
	struct renaming names = { .from = parent };

	/* `ln -sf` renames a link to the name of the importance matrix. */
	if (!from && parent == new_parent) {
		from = ops_root_of_importance(fs, parent, new_name);
		to = from ? inodes_get(fs->inodes, parent) : NULL;
	}
	if (!from)
		rc = ops_rename_beside(fs, parent, name, new_parent, new_name);
	else if (!to)
		rc = ops_refuse(fs, new_parent, new_name, REFUSED_FILE);
	if (to) {
		inode = find_old(fs, from, name, to, new_name, flags, &rc);
		names.to = *to;
		snprintf(names.name, sizeof(names.name), "%s", name);
		snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	}
	inodes_put(fs->inodes, from);
	inodes_put(fs->inodes, to);
	if (inode)
		rename_node(req, inode, &names);
	else
		fuse_reply_err(req, -rc);
}
