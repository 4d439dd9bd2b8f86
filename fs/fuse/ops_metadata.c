/* SPDX-License-Identifier: MIT */
/* ops_metadata.c - names in metadata: each is a key's, or of a scratch file (key_filename.h). What
 * changes a key waits for the disk and is answered by a job. */
#include "fs/edit/metadata_edit.h"
#include "fs/fuse/ops_async.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct key_renaming {
	uint64_t directory;
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1];
};

static const struct key_renaming *names_of(struct async_request *async)
{
	return (struct key_renaming *)(void *)async->text;
}

/* What a process wrote beside a key takes its place. */
static ssize_t fill_key(struct async_request *async)
{
	const struct key_renaming *names = names_of(async);
	struct scratch_files *scratches = mount_of(async->req)->scratches;
	const int rc =
		metadata_edit_fill(async->inode->model, names->new_name, async->inode->stage);

	if (rc == 0) {
		scratch_files_remove(scratches, names->directory, names->name);
		scratch_files_remove(scratches, names->directory, names->new_name);
	}
	return rc;
}

static ssize_t move_key(struct async_request *async)
{
	const struct key_renaming *names = names_of(async);
	const int rc =
		metadata_edit_move(async->inode->model, async->inode->index, names->new_name);

	if (rc == 0)
		scratch_files_remove(mount_of(async->req)->scratches, names->directory,
				     names->new_name);
	return rc;
}

/* From a key to a scratch file, which knows the type, as the key does if it is made again. */
static ssize_t set_aside(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct key_renaming *names = names_of(async);
	struct model *model = async->inode->model;
	const struct inode directory = { .ino = names->directory,
					 .family = FAMILY_METADATA,
					 .model = model };
	struct metadata_entry *metadatum = inodes_metadatum(async->inode);
	struct inode *inode = NULL;
	int rc = -ENOMEM;
	struct view *view = metadatum ? metadata_entry_view(metadatum, &rc) : NULL;

	if (view)
		inode = tree_make_scratch(&fs->tree, &directory, names->new_name, view, &rc);
	if (inode) {
		stage_set_type(inode->stage, STAGE_WAS, metadata_entry_value(metadatum)->type);
		rc = metadata_edit_remove(model, async->inode->index, true);
		if (rc < 0)
			scratch_files_remove(fs->scratches, names->directory, names->new_name);
	}
	inodes_put(fs->inodes, inode);
	view_unref(view);
	metadata_entry_unref(metadatum);
	return rc;
}

void ops_rename_key(fuse_req_t req, struct inode *inode, const struct inode *directory,
		    const char *name, const char *new_name)
{
	struct mount *fs = mount_of(req);
	const bool to_key = tree_is_key_name(inode->model, new_name);
	struct key_renaming names = { .directory = directory->ino };
	struct async_request *async;
	int rc;

	if (inode->stage && !to_key) {
		rc = scratch_files_rename(fs->scratches, directory->ino, name, directory->ino,
					  new_name);
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
		return;
	}
	snprintf(names.name, sizeof(names.name), "%s", name);
	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	async = async_new_on(req, inode, sizeof(names),
			     inode->stage ? fill_key
			     : to_key	  ? move_key
					  : set_aside);
	if (!async)
		return;
	memcpy(async->text, &names, sizeof(names));
	async->reply = async_reply_renamed;
	async_submit(async, fs->commits);
}

static ssize_t set_type(struct async_request *async)
{
	const struct value_type *type = (struct value_type *)(void *)async->text;

	return metadata_edit_set_type(async->inode->model, async->inode->index, *type);
}

static bool is_in_metadata(struct mount *fs, const struct inode *inode)
{
	char name[NAME_MAX + 1];
	uint64_t directory;

	return !family_of(inode)->scratch ||
	       (scratch_files_name(fs->scratches, inode, &directory, name) &&
		tree_is_metadata(directory));
}

void ops_set_key_type(fuse_req_t req, struct inode *inode, const char *value, size_t n)
{
	struct mount *fs = mount_of(req);
	struct value_type type;
	struct async_request *async;
	int rc = 0;

	if (!is_in_metadata(fs, inode)) {
		rc = 0;
	} else if (!tree_can_graft(&fs->tree, inode->model)) {
		rc = -EROFS;
	} else if (!value_type_parse(value, n, &type)) {
		log_add(inode->model->log, METADATA_DIRECTORY ": \"%.*s\" is no type of metadata",
			(int)(n < 60 ? n : 60), value);
		rc = -EINVAL;
	} else if (inode->stage) {
		stage_set_type(inode->stage, STAGE_WANTED, type);
	} else if (family_of(inode)->is_fixed(inode)) {
		rc = -EPERM;
	} else {
		async = async_new_on(req, inode, sizeof(type), set_type);
		if (async) {
			memcpy(async->text, &type, sizeof(type));
			async_submit(async, fs->commits);
		}
		return;
	}
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, -rc);
}
