/* SPDX-License-Identifier: MIT */
/* ops_metadata.c - names in metadata: each is a key's, or of a scratch file (key_filename.h). What
 * changes a key waits for the disk and is answered by a job. */
#include "fs/edit/metadata_edit.h"
#include "fs/fuse/ops_async.h"
#include "fs/metadata/key_filename.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool ops_is_metadata(fuse_ino_t ino)
{
	return inode_kind(ino) == INODE_METADATA;
}

/* Is there a key of that name, or would the name make one? */
static bool is_key_name(const struct model *model, const char *name)
{
	char key[KEY_FILENAME_MAX + 1];
	uint32_t i;

	return metadata_find(model->metadata, name, &i) || key_filename_decode(name, key);
}

bool ops_is_named(const struct model *model, uint64_t directory, const char *name)
{
	if (ops_is_metadata(directory))
		return is_key_name(model, name);
	return ops_slot_name(name) != 0 || ops_is_adapter_name(directory, name);
}

/* What the model has comes before what somebody writes under that name. */
struct inode *ops_find_key(struct mount *fs, const struct inode *directory, const char *name,
			   int *rc)
{
	struct model *model = directory->model;
	struct inode *inode = NULL;
	uint32_t i;

	*rc = -ENOENT;
	if (directory->kind == NODE_BASE_METADATA) {
		if (!metadata_find(model->metadata, name, &i) || i >= model->gguf->n_kv)
			return NULL;
		return inodes_get(fs->inodes, inode_of(model->number, INODE_BASE_KEY, i));
	}
	if (metadata_find(model->metadata, name, &i))
		inode = inodes_key(fs->inodes, model, i, rc);
	if (!inode)
		scratch_files_find(fs->scratches, directory->ino, name, &inode);
	return inode;
}

bool ops_key_may_block(const struct inode *directory, const char *name)
{
	struct metadata *metadata = directory->model->metadata;
	const bool base = directory->kind == NODE_BASE_METADATA;
	struct metadata_entry *metadatum;
	uint32_t i;
	bool far;
	int rc;

	if (!metadata_find(metadata, name, &i) || (base && i >= directory->model->gguf->n_kv))
		return false;
	metadatum = base ? metadata_get_base(metadata, i, &rc) : metadata_get(metadata, i, &rc);
	far = metadatum && !metadata_entry_is_size_known(metadatum);
	metadata_entry_unref(metadatum);
	return far;
}

int ops_check_key(const struct model *model, const char *name)
{
	char key[KEY_FILENAME_MAX + 1];
	const size_t n = key_filename_decode(name, key);

	if (!n || !metadata_is_fixed(key, n))
		return 0;
	log_add(model->log,
		METADATA_DIRECTORY
		"%s: refused: the key belongs to the container and cannot be changed",
		name);
	return -EPERM;
}

struct inode *ops_stage_key(struct mount *fs, const struct inode *key)
{
	struct model *model = key->model;
	struct inode made = {
		.ino = inode_new(model), .kind = NODE_KEY_STAGE, .index = key->index, .model = model
	};
	struct metadata_entry *metadatum = inodes_metadatum(key);
	int rc;
	struct view *view = metadatum ? metadata_entry_view(metadatum, &rc) : NULL;

	metadata_entry_unref(metadatum);
	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? inodes_add(fs->inodes, &made) : NULL;
}

/* The type that a stage over a key, or a file that is to be one, says. False: none. */
static bool staged_type(const struct inode *inode, struct value_type *type)
{
	const enum stage_type how = stage_type(inode->stage, type);

	if (how == STAGE_WANTED || inode->kind != NODE_KEY_STAGE)
		return how != STAGE_UNTYPED;
	return metadata_type(inode->model->metadata, inode->index, type);
}

bool ops_is_emptied_string(const struct inode *inode)
{
	struct value_type type;

	return inode->kind == NODE_KEY_STAGE && stage_size(inode->stage) == 0 &&
	       !stage_written(inode->stage) && staged_type(inode, &type) && type.type == KV_STRING;
}

static ssize_t remove_key(struct async_request *async)
{
	return metadata_edit_remove(async->inode->model, async->inode->index, false);
}

void ops_remove_key(fuse_req_t req, struct inode *inode)
{
	struct async_request *async = async_new_on(req, inode, 0, remove_key);

	if (async)
		async_submit(async, mount_of(req)->commits);
}

struct key_renaming {
	uint64_t directory;
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1];
};

static const struct key_renaming *names_of(struct async_request *async)
{
	return (struct key_renaming *)(void *)async->text;
}

/* What somebody wrote beside a key takes its place. */
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
					 .kind = NODE_METADATA,
					 .model = model };
	struct metadata_entry *metadatum = inodes_metadatum(async->inode);
	struct inode *inode = NULL;
	int rc = -ENOMEM;
	struct view *view = metadatum ? metadata_entry_view(metadatum, &rc) : NULL;

	if (view)
		inode = ops_make_scratch(fs, &directory, names->new_name, view, &rc);
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
	const bool to_key = is_key_name(inode->model, new_name);
	struct key_renaming names = { .directory = directory->ino };
	struct async_request *async;
	int rc;

	if (inode->kind == NODE_SCRATCH && !to_key) {
		rc = scratch_files_rename(fs->scratches, directory->ino, name, directory->ino,
					  new_name);
		inodes_put(fs->inodes, inode);
		fuse_reply_err(req, -rc);
		return;
	}
	snprintf(names.name, sizeof(names.name), "%s", name);
	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	async = async_new_on(req, inode, sizeof(names),
			     inode->kind == NODE_SCRATCH ? fill_key
			     : to_key			 ? move_key
							 : set_aside);
	if (!async)
		return;
	memcpy(async->text, &names, sizeof(names));
	async->reply = async_reply_renamed;
	async_submit(async, fs->commits);
}

bool ops_has_key_attributes(const struct inode *inode)
{
	return inode->kind == NODE_KEY || inode->kind == NODE_BASE_KEY ||
	       inode->kind == NODE_KEY_STAGE;
}

static bool type_of(const struct inode *inode, struct value_type *type)
{
	struct metadata_entry *metadatum;

	if (inode->stage)
		return staged_type(inode, type);
	metadatum = inodes_metadatum(inode);
	if (metadatum)
		*type = metadata_entry_value(metadatum)->type;
	metadata_entry_unref(metadatum);
	return metadatum != NULL;
}

int ops_key_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	char type_text[VALUE_TYPE_TEXT];
	struct metadata_key key;
	struct value_type type;

	if (inode->kind == NODE_SCRATCH && strcmp(name, "type") != 0)
		return -ENODATA;
	if (strcmp(name, "type") == 0 && type_of(inode, &type))
		return snprintf(text, n, "%s", value_type_text(type, type_text));
	if (strcmp(name, "graft") == 0 && inode->metadatum)
		return snprintf(text, n, "%s",
				inode->index < inode->model->gguf->n_kv ? "edited" : "added");
	if (strcmp(name, "key") != 0)
		return -ENODATA;
	key = metadata_key(inode->model->metadata, inode->index);
	/* Exact, whatever bytes it has. */
	if (key.length <= n)
		memcpy(text, key.key, key.length);
	return (int)key.length;
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

	return inode->kind != NODE_SCRATCH ||
	       (scratch_files_name(fs->scratches, inode, &directory, name) &&
		ops_is_metadata(directory));
}

void ops_set_key_type(fuse_req_t req, struct inode *inode, const char *value, size_t n)
{
	struct mount *fs = mount_of(req);
	struct value_type type;
	struct async_request *async;
	int rc = 0;

	if (!is_in_metadata(fs, inode)) {
		rc = 0;
	} else if (!ops_can_graft(fs, inode->model)) {
		rc = -EROFS;
	} else if (!value_type_parse(value, n, &type)) {
		log_add(inode->model->log, METADATA_DIRECTORY ": \"%.*s\" is no type of metadata",
			(int)(n < 60 ? n : 60), value);
		rc = -EINVAL;
	} else if (inode->stage) {
		stage_set_type(inode->stage, STAGE_WANTED, type);
	} else if (inode->kind == NODE_BASE_KEY ||
		   metadata_key(inode->model->metadata, inode->index).fixed) {
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
