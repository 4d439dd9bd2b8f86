/* SPDX-License-Identifier: MIT */
/* ops_dir.c - directory listings. An entry's place in the directory is its offset. */
#include "fs/edit/metadata_edit.h"
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/mount/shard_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A listing goes on in the model that it began in. */
static void open_directory(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct mount *fs = mount_of(req);
	struct inode *directory = inodes_get(fs->inodes, ino);

	fi->fh = directory && directory->model ? directory->model->number : 0;
	inodes_put(fs->inodes, directory);

	/* A graft changes the numbers in the list, and so does a shard. */
	fi->cache_readdir = fs->options->read_only && mount_is_complete(fs);
	fi->keep_cache = fi->cache_readdir;
	fuse_reply_open(req, fi);
}

/* Whoever lists a root wants to see what is there by now. */
static ssize_t look_for_shards(struct async_request *async)
{
	shard_watch_check(mount_of(async->req), false);
	return 0;
}

static void reply_opendir(struct async_request *async, ssize_t result)
{
	struct fuse_file_info *fi = (struct fuse_file_info *)async->text;

	(void)result;
	open_directory(async->req, async->offset, fi);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = mount_is_complete(fs) ? NULL : inodes_get(fs->inodes, ino);
	struct async_request *async;

	if (!directory || (directory->kind != NODE_ROOT && directory->kind != NODE_MODELS)) {
		open_directory(req, ino, fi);
	} else {
		async = async_new(req, sizeof(*fi));
		if (async) {
			memcpy(async->text, fi, sizeof(*fi));
			async->offset = ino;
			async->run = look_for_shards;
			async->reply = reply_opendir;
			async_submit(async, fs->shard_checks);
		}
	}
	inodes_put(fs->inodes, directory);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void list_generated(struct generated *generated, enum generated_kind kind,
			   struct listed *entry)
{
	snprintf(entry->name, sizeof(entry->name), "%s", generated_name(kind));
	entry->ino = generated_ino(generated, kind);
	entry->type = S_IFREG;
}

/* False: the slot holds nothing. */
static bool list_organ(struct model *model, enum node_kind kind, uint32_t tensor,
		       struct listed *entry)
{
	struct content *content = slots_get(model->slots, tensor);
	const bool there = !content_is_whiteout(content);

	snprintf(entry->name, sizeof(entry->name), "%s.%s", model->places[tensor].name,
		 kind == NODE_THETA ? "theta" : "bin");
	if (there)
		entry->ino = inodes_organ_ino(model, kind, tensor, content);
	entry->type = kind == NODE_ORGAN && content_is_link(content) ? S_IFLNK : S_IFREG;
	entry->known = true;
	entry->model = model;
	entry->kind = kind;
	entry->tensor = tensor;
	content_unref(content);
	return there;
}

/* What follows "." and "..": in the root the classes that are there, then the generated files.
 * metadata is not listed, as .base is not: no program tells us whether it writes a value because
 * its user has named that, or as part of a whole tree that is copied, and of the latter the values
 * are to stay. */
static bool list_root(struct mount *fs, const struct inode *root, uint64_t place,
		      struct listed *entry)
{
	struct model *model = root->model;

	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		if (!ops_is_listed_class(model, klass) &&
		    (klass != CLASS_ADAPTERS || root->kind != NODE_ROOT || !adapters_any(model)))
			continue;
		if (place-- == 0) {
			snprintf(entry->name, sizeof(entry->name), "%s", class_name(klass));
			entry->ino = inode_of_directory(model, INODE_CLASS, klass);
			entry->type = S_IFDIR;
			return true;
		}
	}
	if ((root->kind != NODE_ROOT || fs->options->list_views) && place-- == 0) {
		snprintf(entry->name, sizeof(entry->name), "metadata");
		entry->ino = inode_of_directory(model, INODE_METADATA, 0);
		entry->type = S_IFDIR;
		return true;
	}
	if (place < GENERATED_IN_ROOT) {
		list_generated(mount_model_files(fs, root)->generated, (enum generated_kind)place,
			       entry);
		return true;
	}
	place -= GENERATED_IN_ROOT;
	snprintf(entry->name, sizeof(entry->name), "%s", place == 0 ? ".base" : ".views");
	entry->ino = inode_of_directory(model, place == 0 ? INODE_BASE : INODE_VIEWS, 0);
	entry->type = S_IFDIR;
	return place < 2 && fs->options->list_views;
}

/* Files, then the directories of forms. */
static bool list_views(struct mount *fs, const struct inode *directory, uint64_t place,
		       struct listed *entry)
{
	const uint64_t files = GENERATED_IN_VIEWS - GENERATED_IN_ROOT;

	if (place < files) {
		list_generated(mount_model_files(fs, directory)->generated,
			       (enum generated_kind)(GENERATED_IN_ROOT + place), entry);
		return true;
	}
	place -= files;
	return ops_list_views(directory, &place, entry);
}

/* Adapters and scratch files come after all slots there can be. */
#define ADAPTER_PLACES ((uint64_t)1 << 39)
#define SCRATCH_PLACES ((uint64_t)1 << 40)

/* Does a slot or key of that name come earlier in the listing? */
static bool is_listed(const struct inode *directory, const char *name)
{
	struct model *model = directory->model;
	const size_t n = ops_slot_name(name);
	uint32_t i;

	if (directory->kind == NODE_METADATA)
		return metadata_find(model->metadata, name, &i) &&
		       metadata_edit_get_type(model, i, &(struct value_type){ 0 });
	if (ops_is_adapter_name(directory->ino, name)) {
		struct adapter_attr shown = { .link = NULL };
		const bool there = adapters_lookup(model, name, &shown);

		content_unref(shown.link);
		return there;
	}
	return n && model_find_slot(model, directory->index, name, n, &i);
}

static bool list_scratch(struct mount *fs, const struct inode *directory, uint64_t *place,
			 struct listed *entry)
{
	uint64_t number = *place > SCRATCH_PLACES ? *place - SCRATCH_PLACES : 0;

	entry->type = S_IFREG;
	for (; scratch_files_next(fs->scratches, directory->ino, &number, entry->name, &entry->ino);
	     number++) {
		*place = SCRATCH_PLACES + number;
		if (!is_listed(directory, entry->name))
			return true;
	}
	return false;
}

/* Is it a θ file that somebody removed? */
static bool is_hidden(struct mount *fs, const struct inode *directory, const char *name)
{
	struct inode *scratch = NULL;
	const enum scratch_kind kind =
		scratch_files_find(fs->scratches, directory->ino, name, &scratch);

	inodes_put(fs->inodes, scratch);
	return kind == SCRATCH_HIDDEN;
}

/* In metadata each key that has a value, then scratch files; in that of .base each key of the
 * base. */
static bool list_keys(struct mount *fs, const struct inode *directory, uint64_t *place,
		      struct listed *entry)
{
	struct model *model = directory->model;
	const bool base = directory->kind == NODE_BASE_METADATA;
	const uint32_t n = base ? model->gguf->n_kv : metadata_count(model->metadata);

	entry->type = S_IFREG;
	for (; *place < n; ++*place) {
		const uint32_t i = (uint32_t)*place;
		int rc;
		struct metadata_entry *metadatum = base ? metadata_get_base(model->metadata, i, &rc)
							: metadata_get(model->metadata, i, &rc);

		if (!metadatum)
			continue;
		snprintf(entry->name, sizeof(entry->name), "%s",
			 metadata_key(model->metadata, i).name);
		entry->ino = inode_of(model->number, base ? INODE_BASE_KEY : INODE_KEY, i);
		metadata_entry_unref(metadatum);
		return true;
	}
	return !base && list_scratch(fs, directory, place, entry);
}

/* After the organs of adapters what else they have. */
static bool list_adapter(const struct inode *directory, uint64_t *place, struct listed *entry)
{
	uint64_t number = *place > ADAPTER_PLACES ? *place - ADAPTER_PLACES : 0;
	struct adapter_attr shown;

	if (directory->index != CLASS_ADAPTERS || *place >= SCRATCH_PLACES ||
	    !adapters_next(directory->model, &number, entry->name, &shown))
		return false;
	*place = ADAPTER_PLACES + number;
	entry->ino = shown.ino;
	entry->type = shown.link ? S_IFLNK : S_IFREG;
	content_unref(shown.link);
	return true;
}

/* In a class its table, then each organ with its θ file, then scratch files. Places of what is not
 * there are passed over. */
static bool list_class(struct mount *fs, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	struct model *model = directory->model;
	uint32_t tensor;

	if (*place == 0) {
		list_generated(mount_model_files(fs, directory)->generated,
			       GENERATED_TABLES + directory->index, entry);
		if (!is_hidden(fs, directory, entry->name))
			return true;
		++*place;
	}
	for (;; ++*place) {
		const uint64_t k = *place - 1;

		if (k / 2 > UINT32_MAX ||
		    !model_class_slot(model, directory->index, (uint32_t)(k / 2), &tensor))
			return list_adapter(directory, place, entry) ||
			       list_scratch(fs, directory, place, entry);
		if (list_organ(model, k % 2 ? NODE_THETA : NODE_ORGAN, tensor, entry) &&
		    !(k % 2 && is_hidden(fs, directory, entry->name)))
			return true;
	}
}

/* In .base the classes and the picture, in the classes what the base has. */
static bool list_base(struct mount *fs, const struct inode *directory, uint64_t place,
		      struct listed *entry)
{
	struct model *model = directory->model;
	struct listed in_root = { .known = false };
	uint32_t tensor;

	if (directory->kind == NODE_BASE) {
		list_root(fs, directory, place, &in_root);
		if (in_root.type == S_IFREG && strcmp(in_root.name, generated_name(0)) == 0) {
			list_generated(mount_model_files(fs, directory)->generated,
				       GENERATED_BASE_PICTURE, entry);
			return true;
		}
		if (in_root.type != S_IFDIR)
			return false;
		*entry = in_root;
		entry->ino = ops_is_metadata(in_root.ino)
				     ? inode_of_directory(model, INODE_BASE_METADATA, 0)
				     : inode_of_directory(model, INODE_BASE_CLASS,
							  inode_index(in_root.ino));
		return true;
	}
	if (place / 2 > UINT32_MAX ||
	    !model_class_slot(model, directory->index, (uint32_t)(place / 2), &tensor) ||
	    tensor >= model->gguf->n_tensors)
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s.%s", model->places[tensor].name,
		 place % 2 ? "theta" : "bin");
	entry->ino = inode_of(model->number, INODE_BASE_ORGAN,
			      (place % 2 ? INODE_BASE_THETA : 0) | tensor);
	entry->type = S_IFREG;
	return true;
}

/* In the root of several models their directories, then the files made from all of them. */
static bool list_models(struct mount *fs, uint64_t place, struct listed *entry)
{
	if (place < fs->models->n) {
		const struct model *model = fs->models->models[place];

		snprintf(entry->name, sizeof(entry->name), "%s", model->shown);
		entry->ino = inodes_root_ino(fs->inodes, model);
		entry->type = S_IFDIR;
		return true;
	}
	if (!models_root_file(fs->overview, place - fs->models->n, entry->name, &entry->ino))
		return false;
	entry->type = S_IFREG;
	return true;
}

static uint64_t parent_ino(const struct mount *fs, const struct inode *directory)
{
	if (directory->kind == NODE_MODELS || directory->kind == NODE_ROOT)
		return INODE_ROOT;
	if (directory->kind == NODE_BASE_CLASS || directory->kind == NODE_BASE_METADATA)
		return inode_of_directory(directory->model, INODE_BASE, 0);
	if (ops_is_view_directory(directory))
		return ops_view_parent(directory);
	return inodes_root_ino(fs->inodes, directory->model);
}

/* The entry at that place or the next one after it; then *place moves on to it. */
static bool list_entry(struct mount *fs, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	uint64_t after;
	bool found;

	*entry = (struct listed){ .ino = directory->ino, .type = S_IFDIR };
	if (*place < 2) {
		snprintf(entry->name, sizeof(entry->name), *place == 0 ? "." : "..");
		if (*place == 1)
			entry->ino = parent_ino(fs, directory);
		return true;
	}
	after = *place - 2;
	if (directory->kind == NODE_MODELS)
		return list_models(fs, after, entry);
	if (directory->kind == NODE_ROOT)
		return list_root(fs, directory, after, entry);
	if (directory->kind == NODE_BASE || directory->kind == NODE_BASE_CLASS)
		return list_base(fs, directory, after, entry);
	if (directory->kind == NODE_VIEWS)
		return list_views(fs, directory, after, entry);
	if (ops_is_view_directory(directory))
		found = ops_list_views(directory, &after, entry);
	else if (directory->kind == NODE_METADATA || directory->kind == NODE_BASE_METADATA)
		found = list_keys(fs, directory, &after, entry);
	else
		found = directory->kind == NODE_CLASS && list_class(fs, directory, &after, entry);
	*place = after + 2;
	return found;
}

static size_t add_plain(fuse_req_t req, char *buffer, size_t left, const struct listed *entry,
			uint64_t place)
{
	const struct stat attr = { .st_ino = entry->ino, .st_mode = entry->type };

	return fuse_add_direntry(req, buffer, left, entry->name, &attr, (off_t)(place + 1));
}

/* Organs and θ files with their attributes, the others by name alone: number 0 says that nothing is
 * told. */
static size_t add_plus(fuse_req_t req, char *buffer, size_t left, const struct listed *entry,
		       uint64_t place)
{
	struct mount *fs = mount_of(req);
	struct fuse_entry_param param = { .attr = { .st_ino = entry->ino,
						    .st_mode = entry->type } };
	struct inode *inode = NULL;
	size_t size;
	int rc;

	if (entry->known)
		inode = inodes_organ(fs->inodes, entry->kind, entry->model, entry->tensor, &rc);

	if (inode) {
		param.ino = inode->ino;
		param.attr_timeout = ops_attributes(fs, inode, &param.attr);
		param.entry_timeout = ops_entry_timeout(fs, inode);
	}
	size = fuse_add_direntry_plus(req, buffer, left, entry->name, &param, (off_t)(place + 1));
	if (inode && size <= left)
		inodes_count_lookup(fs->inodes, inode);
	inodes_put(fs->inodes, inode);
	return size;
}

static void list(fuse_req_t req, fuse_ino_t ino, uint64_t model, size_t size, off_t offset,
		 size_t (*add)(fuse_req_t, char *, size_t, const struct listed *, uint64_t))
{
	struct mount *fs = mount_of(req);
	struct inode *directory = inodes_get(fs->inodes, ino);
	char *buffer = reply_buffers_get(fs->buffers);
	struct listed entry;
	size_t used = 0;

	if (directory && directory->model)
		directory->model = fs->model_files[model].model;
	if (size > REPLY_BUFFER_SIZE)
		size = REPLY_BUFFER_SIZE;
	for (uint64_t place = (uint64_t)offset; directory && buffer; place++) {
		size_t n;

		if (!list_entry(fs, directory, &place, &entry))
			break;
		n = add(req, buffer + used, size - used, &entry, place);
		if (n > size - used)
			break;
		used += n;
	}
	if (directory && buffer)
		fuse_reply_buf(req, buffer, used);
	else
		fuse_reply_err(req, directory ? ENOMEM : ESTALE);
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, directory);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi)
{
	list(req, ino, fi->fh, size, offset, add_plain);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	list(req, ino, fi->fh, size, offset, add_plus);
}
