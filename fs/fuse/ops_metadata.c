/* SPDX-License-Identifier: MIT */
/* ops_metadata.c - names in metadata: each is a key's, or of a scratch file (key_name.h). What
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
	char key[KEY_NAME_MAX + 1];
	uint32_t i;

	return metadata_find(model->metadata, name, &i) || key_of_name(name, key);
}

bool ops_is_named(const struct model *model, uint64_t directory, const char *name)
{
	if (ops_is_metadata(directory))
		return is_key_name(model, name);
	return ops_slot_name(name) != 0 || ops_is_adapter_name(directory, name);
}

/* What the model has comes before what somebody writes under that name. */
struct node *ops_find_key(struct fs *fs, const struct node *directory, const char *name, int *rc)
{
	struct model *model = directory->model;
	struct node *node = NULL;
	uint32_t i;

	*rc = -ENOENT;
	if (directory->kind == NODE_BASE_METADATA) {
		if (!metadata_find(model->metadata, name, &i) || i >= model->gguf->n_kv)
			return NULL;
		return nodes_get(fs->nodes, inode_of(model->number, INODE_BASE_KEY, i));
	}
	if (metadata_find(model->metadata, name, &i))
		node = nodes_key(fs->nodes, model, i, rc);
	if (!node)
		scratches_find(fs->scratches, directory->ino, name, &node);
	return node;
}

bool ops_is_far_key(const struct node *directory, const char *name)
{
	struct metadata *metadata = directory->model->metadata;
	const bool base = directory->kind == NODE_BASE_METADATA;
	struct metadatum *metadatum;
	uint32_t i;
	bool far;
	int rc;

	if (!metadata_find(metadata, name, &i) || (base && i >= directory->model->gguf->n_kv))
		return false;
	metadatum = base ? metadata_base(metadata, i, &rc) : metadata_get(metadata, i, &rc);
	far = metadatum && !metadatum_is_measured(metadatum);
	metadatum_unref(metadatum);
	return far;
}

int ops_check_key(const struct model *model, const char *name)
{
	char key[KEY_NAME_MAX + 1];
	const size_t n = key_of_name(name, key);

	if (!n || !metadata_is_fixed(key, n))
		return 0;
	log_add(model->log,
		EDIT_DIRECTORY
		"%s: refused: the key belongs to the container and cannot be changed",
		name);
	return -EPERM;
}

struct node *ops_stage_key(struct fs *fs, const struct node *key)
{
	struct model *model = key->model;
	struct node made = {
		.ino = inode_new(model), .kind = NODE_KEY_STAGE, .index = key->index, .model = model
	};
	struct metadatum *metadatum = nodes_metadatum(key);
	int rc;
	struct view *view = metadatum ? metadatum_view(metadatum, &rc) : NULL;

	metadatum_unref(metadatum);
	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? nodes_add(fs->nodes, &made) : NULL;
}

/* The type that a stage over a key, or a file that is to be one, says. False: none. */
static bool staged_type(const struct node *node, struct value_type *type)
{
	const enum stage_type how = stage_type(node->stage, type);

	if (how == STAGE_WANTED || node->kind != NODE_KEY_STAGE)
		return how != STAGE_UNTYPED;
	return metadata_type(node->model->metadata, node->index, type);
}

bool ops_is_emptied_string(const struct node *node)
{
	struct value_type type;

	return node->kind == NODE_KEY_STAGE && stage_size(node->stage) == 0 &&
	       !stage_written(node->stage) && staged_type(node, &type) && type.type == KV_STRING;
}

static ssize_t remove_key(struct later *later)
{
	return edit_remove(later->node->model, later->node->index, false);
}

void ops_remove_key(fuse_req_t req, struct node *node)
{
	struct later *later = later_on(req, node, 0, remove_key);

	if (later)
		later_submit(later, fs_of(req)->commits);
}

struct key_renaming {
	uint64_t directory;
	char name[NAME_MAX + 1], new_name[NAME_MAX + 1];
};

static const struct key_renaming *names_of(struct later *later)
{
	return (struct key_renaming *)(void *)later->text;
}

/* What somebody wrote beside a key takes its place. */
static ssize_t fill_key(struct later *later)
{
	const struct key_renaming *names = names_of(later);
	struct scratches *scratches = fs_of(later->req)->scratches;
	const int rc = edit_fill(later->node->model, names->new_name, later->node->stage);

	if (rc == 0) {
		scratches_remove(scratches, names->directory, names->name);
		scratches_remove(scratches, names->directory, names->new_name);
	}
	return rc;
}

static ssize_t move_key(struct later *later)
{
	const struct key_renaming *names = names_of(later);
	const int rc = edit_move(later->node->model, later->node->index, names->new_name);

	if (rc == 0)
		scratches_remove(fs_of(later->req)->scratches, names->directory, names->new_name);
	return rc;
}

/* From a key to a scratch file, which knows the type, as the key does if it is made again. */
static ssize_t set_aside(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct key_renaming *names = names_of(later);
	struct model *model = later->node->model;
	const struct node directory = { .ino = names->directory,
					.kind = NODE_METADATA,
					.model = model };
	struct metadatum *metadatum = nodes_metadatum(later->node);
	struct node *node = NULL;
	int rc = -ENOMEM;
	struct view *view = metadatum ? metadatum_view(metadatum, &rc) : NULL;

	if (view)
		node = ops_make_scratch(fs, &directory, names->new_name, view, &rc);
	if (node) {
		stage_set_type(node->stage, STAGE_WAS, metadatum_value(metadatum)->type);
		rc = edit_remove(model, later->node->index, true);
		if (rc < 0)
			scratches_remove(fs->scratches, names->directory, names->new_name);
	}
	nodes_put(fs->nodes, node);
	view_unref(view);
	metadatum_unref(metadatum);
	return rc;
}

void ops_rename_key(fuse_req_t req, struct node *node, const struct node *directory,
		    const char *name, const char *new_name)
{
	struct fs *fs = fs_of(req);
	const bool to_key = is_key_name(node->model, new_name);
	struct key_renaming names = { .directory = directory->ino };
	struct later *later;
	int rc;

	if (node->kind == NODE_SCRATCH && !to_key) {
		rc = scratches_rename(fs->scratches, directory->ino, name, directory->ino,
				      new_name);
		nodes_put(fs->nodes, node);
		fuse_reply_err(req, -rc);
		return;
	}
	snprintf(names.name, sizeof(names.name), "%s", name);
	snprintf(names.new_name, sizeof(names.new_name), "%s", new_name);
	later = later_on(req, node, sizeof(names),
			 node->kind == NODE_SCRATCH ? fill_key
			 : to_key		    ? move_key
						    : set_aside);
	if (!later)
		return;
	memcpy(later->text, &names, sizeof(names));
	later->reply = later_renamed;
	later_submit(later, fs->commits);
}

bool ops_has_key_attributes(const struct node *node)
{
	return node->kind == NODE_KEY || node->kind == NODE_BASE_KEY ||
	       node->kind == NODE_KEY_STAGE;
}

static bool type_of(const struct node *node, struct value_type *type)
{
	struct metadatum *metadatum;

	if (node->stage)
		return staged_type(node, type);
	metadatum = nodes_metadatum(node);
	if (metadatum)
		*type = metadatum_value(metadatum)->type;
	metadatum_unref(metadatum);
	return metadatum != NULL;
}

int ops_key_attribute(const struct node *node, const char *name, char *text, size_t n)
{
	char type_text[VALUE_TYPE_TEXT];
	struct metadata_key key;
	struct value_type type;

	if (node->kind == NODE_SCRATCH && strcmp(name, "type") != 0)
		return -ENODATA;
	if (strcmp(name, "type") == 0 && type_of(node, &type))
		return snprintf(text, n, "%s", value_type_text(type, type_text));
	if (strcmp(name, "graft") == 0 && node->metadatum)
		return snprintf(text, n, "%s",
				node->index < node->model->gguf->n_kv ? "edited" : "added");
	if (strcmp(name, "key") != 0)
		return -ENODATA;
	key = metadata_key(node->model->metadata, node->index);
	/* Exact, whatever bytes it has. */
	if (key.length <= n)
		memcpy(text, key.key, key.length);
	return (int)key.length;
}

static ssize_t set_type(struct later *later)
{
	const struct value_type *type = (struct value_type *)(void *)later->text;

	return edit_set_type(later->node->model, later->node->index, *type);
}

static bool is_in_metadata(struct fs *fs, const struct node *node)
{
	char name[NAME_MAX + 1];
	uint64_t directory;

	return node->kind != NODE_SCRATCH ||
	       (scratches_name(fs->scratches, node, &directory, name) &&
		ops_is_metadata(directory));
}

void ops_set_key_type(fuse_req_t req, struct node *node, const char *value, size_t n)
{
	struct fs *fs = fs_of(req);
	struct value_type type;
	struct later *later;
	int rc = 0;

	if (!is_in_metadata(fs, node)) {
		rc = 0;
	} else if (!ops_can_graft(fs, node->model)) {
		rc = -EROFS;
	} else if (!value_type_parse(value, n, &type)) {
		log_add(node->model->log, EDIT_DIRECTORY ": \"%.*s\" is no type of metadata",
			(int)(n < 60 ? n : 60), value);
		rc = -EINVAL;
	} else if (node->stage) {
		stage_set_type(node->stage, STAGE_WANTED, type);
	} else if (node->kind == NODE_BASE_KEY ||
		   metadata_key(node->model->metadata, node->index).fixed) {
		rc = -EPERM;
	} else {
		later = later_on(req, node, sizeof(type), set_type);
		if (later) {
			memcpy(later->text, &type, sizeof(type));
			later_submit(later, fs->commits);
		}
		return;
	}
	nodes_put(fs->nodes, node);
	fuse_reply_err(req, -rc);
}
