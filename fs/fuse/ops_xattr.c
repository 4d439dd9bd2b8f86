/* SPDX-License-Identifier: MIT */
/* ops_xattr.c - extended attributes: what an organ is, in user.organfs.*. Those that have to be
 * measured or hashed are answered when asked for by name, but not listed, so that a file manager's
 * sweep does neither.
 *
 * Security labels and ACLs are answered with EOPNOTSUPP before anything is looked at: `ls -l` asks
 * for them at every file, and with this answer stops after the first. */
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/lazy/theta_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "user.organfs."

/* Each writes its value into text of n bytes and returns its length, or -ENODATA. */
static int text_of(char *text, size_t n, const char *value)
{
	return snprintf(text, n, "%s", value);
}

static int tensor_value(const struct inode *inode, char *text, size_t n)
{
	const struct organ_place *place = &inode->model->places[inode->index];

	/* Exact, whatever bytes it has. */
	if (place->tensor_length <= n)
		memcpy(text, place->tensor, place->tensor_length);
	return (int)place->tensor_length;
}

static struct organ organ_of(const struct inode *inode)
{
	return ops_is_view_file(inode) ? ops_view_organ(inode)
				       : model_organ(inode->model, inode->index, inode->content);
}

static int type_value(const struct inode *inode, char *text, size_t n)
{
	char scratch[TYPE_NAME_MAX];
	const struct organ organ = organ_of(inode);

	return text_of(text, n, type_name(organ.type, scratch));
}

static int shape_value(const struct inode *inode, char *text, size_t n)
{
	char shape[SHAPE_TEXT_MAX];
	const struct organ organ = organ_of(inode);

	return text_of(text, n, shape_text(organ.ne, organ.dims, shape));
}

static int class_value(const struct inode *inode, char *text, size_t n)
{
	return text_of(text, n, class_name(inode->model->places[inode->index].klass));
}

static int block_value(const struct inode *inode, char *text, size_t n)
{
	const int32_t block = inode->model->places[inode->index].block;

	return block < 0 ? -ENODATA : snprintf(text, n, "%" PRId32, block);
}

static int extent_value(const struct inode *inode, char *text, size_t n)
{
	const struct organ organ = model_organ(inode->model, inode->index, inode->content);
	const struct content *content = inode->content;
	struct backing *file = content ? content->file : inode->model->base;
	uint64_t offset =
		content ? content->offset : inode->model->gguf->tensors[inode->index].offset;
	uint64_t length = organ.data_size;

	if (ops_is_view_file(inode))
		return -ENODATA;
	file = backing_file_at(file, &offset, &length);
	/* What is compressed lies nowhere in one piece. */
	if (!file || !backing_is_plain(file) || length != organ.data_size)
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(file), offset, length);
}

/* Of model.gguf, where it is the base, or was assembled. */
static int model_extent(const struct inode *inode, char *text, size_t n)
{
	struct extent extent;

	if (inode->index != GENERATED_MODEL || !view_extent(inode->view, 0, &extent) ||
	    !extent.backing || extent.length != view_size(inode->view))
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(extent.backing),
			extent.offset, extent.length);
}

static int graft_value(const struct inode *inode, char *text, size_t n)
{
	return inode->content ? text_of(text, n, content_kind_name(inode->content)) : -ENODATA;
}

/* A key has one: ops_key_attribute(). */
static int no_value(const struct inode *inode, char *text, size_t n)
{
	(void)inode;
	(void)text;
	(void)n;
	return -ENODATA;
}

static const struct attribute {
	const char *name;
	int (*value)(const struct inode *inode, char *text, size_t n);
} attributes[] = {
	{ PREFIX "tensor", tensor_value }, { PREFIX "type", type_value },
	{ PREFIX "shape", shape_value },   { PREFIX "class", class_value },
	{ PREFIX "block", block_value },   { PREFIX "extent", extent_value },
	{ PREFIX "graft", graft_value },   { PREFIX "key", no_value },
};

/* Room for one that is measured, or a hash. */
#define FIGURE_MAX 64

#define DIGEST_NAME "xxh128"

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

/* Answer with a value, or its length where the caller has no room yet. */
static void reply(fuse_req_t req, const char *value, int n, size_t size)
{
	if (n < 0)
		fuse_reply_err(req, -n);
	else if (size == 0)
		fuse_reply_xattr(req, (size_t)n);
	else if ((size_t)n > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value, (size_t)n);
}

static bool is_root(const struct inode *inode)
{
	return inode->kind == NODE_ROOT || inode->kind == NODE_MODELS;
}

/* How many organs were measured, or hashes made, of the model or of all. */
static int count_value(struct mount *fs, const struct inode *inode, bool hashes, char *text,
		       size_t n)
{
	uint64_t count = 0;

	if (!is_root(inode))
		return -ENODATA;
	for (uint32_t i = 0; i < fs->models->n; i++) {
		struct model_files *mounted = mount_model_files_at(fs, i);

		if (inode->kind == NODE_MODELS || mounted->model == inode->model)
			count += hashes ? tensor_hashes_count(mounted->hashes)
					: memo_count(mounted->measures);
	}
	return snprintf(text, n, "%" PRIu64, count);
}

static int find_value(struct mount *fs, const struct inode *inode, const char *name, char *text,
		      size_t n)
{
	if (strcmp(name, PREFIX "measured") == 0 || strcmp(name, PREFIX "hashed") == 0)
		return count_value(fs, inode, strcmp(name, PREFIX "hashed") == 0, text, n);
	if (strcmp(name, PREFIX "daemon") == 0)
		return is_root(inode) ? unmount_status_text(fs->status, text, n) : -ENODATA;
	if (ops_has_key_attributes(inode) || inode->kind == NODE_SCRATCH)
		return ops_key_attribute(inode, name + strlen(PREFIX), text, n);
	if (inode->kind == NODE_GENERATED && strcmp(name, PREFIX "extent") == 0)
		return model_extent(inode, text, n);
	if (inode->kind != NODE_ORGAN && inode->kind != NODE_STAGE &&
	    inode->kind != NODE_BASE_ORGAN && !ops_is_view_file(inode))
		return -ENODATA;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (strcmp(name, attributes[i].name) == 0)
			return attributes[i].value(inode, text, n);
	return -ENODATA;
}

static ssize_t hash(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct subject subject = { async->inode->index, async->inode->content };
	const int rc = tensor_hashes_get(mount_model_files(fs, async->inode)->hashes, HASH_FILE,
					 &subject, &async->stop, async->text);

	return rc < 0 ? rc : (ssize_t)tensor_hash_width(HASH_FILE);
}

static ssize_t measure(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct subject subject = { async->inode->index, async->inode->content };
	struct zmeasure z;
	const int rc =
		memo_get(mount_model_files(fs, async->inode)->measures, &subject, &async->stop, &z);
	char value[FIGURE_MAX];
	int n;

	if (rc < 0)
		return rc == -ENOTSUP ? -ENODATA : rc;
	n = theta_figure(async->text, &z, value, sizeof(value));
	if (n >= 0)
		memcpy(async->text, value, (size_t)n);
	return n;
}

static void reply_figure(struct async_request *async, ssize_t result)
{
	inodes_put(mount_of(async->req)->inodes, async->inode);
	reply(async->req, async->text, (int)result, async->size);
}

static void get_figure(fuse_req_t req, struct inode *inode, const char *name, size_t size)
{
	struct async_request *async = async_new(req, FIGURE_MAX);

	if (!async) {
		inodes_put(mount_of(req)->inodes, inode);
		return;
	}
	async->run = strcmp(name, DIGEST_NAME) == 0 ? hash : measure;
	async->reply = reply_figure;
	async->inode = inode;
	async->size = size;
	snprintf(async->text, FIGURE_MAX, "%s", name);
	async_submit(async, mount_of(req)->computed_reads);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount *fs = mount_of(req);
	struct inode *inode;
	char *buffer;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		fuse_reply_err(req, strncmp(name, "user.", 5) == 0 ? ENODATA : EOPNOTSUPP);
		return;
	}
	inode = inodes_get(fs->inodes, ino);
	if (inode && (inode->kind == NODE_ORGAN || inode->kind == NODE_BASE_ORGAN) &&
	    (theta_is_figure(name + strlen(PREFIX)) || strcmp(name, PREFIX DIGEST_NAME) == 0)) {
		get_figure(req, inode, name + strlen(PREFIX), size);
		return;
	}
	buffer = reply_buffers_get(fs->buffers);
	if (inode && buffer)
		reply(req, buffer, find_value(fs, inode, name, buffer, REPLY_BUFFER_SIZE), size);
	else
		fuse_reply_err(req, inode ? ENOMEM : ESTALE);
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, inode);
}

/* rsync removes from a file what it finds listed and the source has not: of a key nothing is listed
 * but what every key has. A copy of model.gguf is no part of another file. */
static bool is_listed(const struct inode *inode, const char *name)
{
	if (inode->kind == NODE_GENERATED)
		return false;
	return !ops_has_key_attributes(inode) || strcmp(name, PREFIX "graft") != 0;
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	char names[ATTRIBUTES * 32], *buffer = reply_buffers_get(fs->buffers);
	int n = 0;

	if (!inode || !buffer) {
		fuse_reply_err(req, inode ? ENOMEM : ESTALE);
	} else {
		for (size_t i = 0; i < ATTRIBUTES; i++)
			if (is_listed(inode, attributes[i].name) &&
			    find_value(fs, inode, attributes[i].name, buffer, REPLY_BUFFER_SIZE) >=
				    0)
				n += sprintf(names + n, "%s", attributes[i].name) + 1;
		reply(req, names, n, size);
	}
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, inode);
}

/* A copy that brings the attributes of another organ along is no error: what the file is, its bytes
 * say. Of metadata they do not say the type. */
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	struct mount *fs = mount_of(req);
	struct inode *inode;

	(void)flags;
	if (strcmp(name, PREFIX "type") == 0) {
		inode = inodes_get(fs->inodes, ino);
		if (inode && (ops_has_key_attributes(inode) || inode->kind == NODE_SCRATCH)) {
			ops_set_key_type(req, inode, value, size);
			return;
		}
		inodes_put(fs->inodes, inode);
	}
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? 0 : EOPNOTSUPP);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? EPERM : EOPNOTSUPP);
}
