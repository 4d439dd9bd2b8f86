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

static int tensor_value(const struct node *node, char *text, size_t n)
{
	const struct organ_place *place = &node->model->places[node->index];

	/* Exact, whatever bytes it has. */
	if (place->tensor_length <= n)
		memcpy(text, place->tensor, place->tensor_length);
	return (int)place->tensor_length;
}

static struct organ organ_of(const struct node *node)
{
	return ops_is_view_file(node) ? ops_view_organ(node)
				      : model_organ(node->model, node->index, node->content);
}

static int type_value(const struct node *node, char *text, size_t n)
{
	char scratch[TYPE_NAME_MAX];
	const struct organ organ = organ_of(node);

	return text_of(text, n, type_name(organ.type, scratch));
}

static int shape_value(const struct node *node, char *text, size_t n)
{
	char shape[SHAPE_TEXT_MAX];
	const struct organ organ = organ_of(node);

	return text_of(text, n, shape_text(organ.ne, organ.dims, shape));
}

static int class_value(const struct node *node, char *text, size_t n)
{
	return text_of(text, n, class_name(node->model->places[node->index].klass));
}

static int block_value(const struct node *node, char *text, size_t n)
{
	const int32_t block = node->model->places[node->index].block;

	return block < 0 ? -ENODATA : snprintf(text, n, "%" PRId32, block);
}

static int extent_value(const struct node *node, char *text, size_t n)
{
	const struct organ organ = model_organ(node->model, node->index, node->content);
	const struct content *content = node->content;
	struct backing *file = content ? content->file : node->model->base;
	uint64_t offset =
		content ? content->offset : node->model->gguf->tensors[node->index].offset;
	uint64_t length = organ.data_size;

	if (ops_is_view_file(node))
		return -ENODATA;
	file = backing_part(file, &offset, &length);
	/* What is compressed lies nowhere in one piece. */
	if (!file || !backing_is_plain(file) || length != organ.data_size)
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(file), offset, length);
}

/* Of model.gguf, where it is the base, or was assembled. */
static int model_extent(const struct node *node, char *text, size_t n)
{
	struct extent extent;

	if (node->index != GENERATED_MODEL || !view_extent(node->view, 0, &extent) ||
	    !extent.backing || extent.length != view_size(node->view))
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(extent.backing),
			extent.offset, extent.length);
}

static int graft_value(const struct node *node, char *text, size_t n)
{
	return node->content ? text_of(text, n, content_kind_name(node->content)) : -ENODATA;
}

/* A key has one: ops_key_attribute(). */
static int no_value(const struct node *node, char *text, size_t n)
{
	(void)node;
	(void)text;
	(void)n;
	return -ENODATA;
}

static const struct attribute {
	const char *name;
	int (*value)(const struct node *node, char *text, size_t n);
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

static bool is_root(const struct node *node)
{
	return node->kind == NODE_ROOT || node->kind == NODE_MODELS;
}

/* How many organs were measured, or hashes made, of the model or of all. */
static int count_value(struct fs *fs, const struct node *node, bool hashes, char *text, size_t n)
{
	uint64_t count = 0;

	if (!is_root(node))
		return -ENODATA;
	for (uint32_t i = 0; i < fs->collection->n; i++) {
		struct mounted *mounted = fs_now(fs, i);

		if (node->kind == NODE_MODELS || mounted->model == node->model)
			count += hashes ? digests_count(mounted->digests)
					: readings_count(mounted->readings);
	}
	return snprintf(text, n, "%" PRIu64, count);
}

static int find_value(struct fs *fs, const struct node *node, const char *name, char *text,
		      size_t n)
{
	if (strcmp(name, PREFIX "measured") == 0 || strcmp(name, PREFIX "hashed") == 0)
		return count_value(fs, node, strcmp(name, PREFIX "hashed") == 0, text, n);
	if (strcmp(name, PREFIX "daemon") == 0)
		return is_root(node) ? status_text(fs->status, text, n) : -ENODATA;
	if (ops_has_key_attributes(node) || node->kind == NODE_SCRATCH)
		return ops_key_attribute(node, name + strlen(PREFIX), text, n);
	if (node->kind == NODE_GENERATED && strcmp(name, PREFIX "extent") == 0)
		return model_extent(node, text, n);
	if (node->kind != NODE_ORGAN && node->kind != NODE_STAGE && node->kind != NODE_BASE_ORGAN &&
	    !ops_is_view_file(node))
		return -ENODATA;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (strcmp(name, attributes[i].name) == 0)
			return attributes[i].value(node, text, n);
	return -ENODATA;
}

static ssize_t hash(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct subject subject = { later->node->index, later->node->content };
	const int rc = digests_get(fs_mounted(fs, later->node)->digests, DIGEST_FILE, &subject,
				   &later->stop, later->text);

	return rc < 0 ? rc : (ssize_t)digest_width(DIGEST_FILE);
}

static ssize_t measure(struct later *later)
{
	struct fs *fs = fs_of(later->req);
	const struct subject subject = { later->node->index, later->node->content };
	struct zmeasure z;
	const int rc =
		readings_get(fs_mounted(fs, later->node)->readings, &subject, &later->stop, &z);
	char value[FIGURE_MAX];
	int n;

	if (rc < 0)
		return rc == -ENOTSUP ? -ENODATA : rc;
	n = theta_figure(later->text, &z, value, sizeof(value));
	if (n >= 0)
		memcpy(later->text, value, (size_t)n);
	return n;
}

static void reply_figure(struct later *later, ssize_t result)
{
	nodes_put(fs_of(later->req)->nodes, later->node);
	reply(later->req, later->text, (int)result, later->size);
}

static void get_figure(fuse_req_t req, struct node *node, const char *name, size_t size)
{
	struct later *later = later_new(req, FIGURE_MAX);

	if (!later) {
		nodes_put(fs_of(req)->nodes, node);
		return;
	}
	later->act = strcmp(name, DIGEST_NAME) == 0 ? hash : measure;
	later->reply = reply_figure;
	later->node = node;
	later->size = size;
	snprintf(later->text, FIGURE_MAX, "%s", name);
	later_submit(later, fs_of(req)->makers);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct fs *fs = fs_of(req);
	struct node *node;
	char *buffer;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		fuse_reply_err(req, strncmp(name, "user.", 5) == 0 ? ENODATA : EOPNOTSUPP);
		return;
	}
	node = nodes_get(fs->nodes, ino);
	if (node && (node->kind == NODE_ORGAN || node->kind == NODE_BASE_ORGAN) &&
	    (theta_is_figure(name + strlen(PREFIX)) || strcmp(name, PREFIX DIGEST_NAME) == 0)) {
		get_figure(req, node, name + strlen(PREFIX), size);
		return;
	}
	buffer = buffers_get(fs->buffers);
	if (node && buffer)
		reply(req, buffer, find_value(fs, node, name, buffer, BUFFER_SIZE), size);
	else
		fuse_reply_err(req, node ? ENOMEM : ESTALE);
	buffers_put(fs->buffers, buffer);
	nodes_put(fs->nodes, node);
}

/* rsync removes from a file what it finds listed and the source has not: of a key nothing is listed
 * but what every key has. A copy of model.gguf is no part of another file. */
static bool is_listed(const struct node *node, const char *name)
{
	if (node->kind == NODE_GENERATED)
		return false;
	return !ops_has_key_attributes(node) || strcmp(name, PREFIX "graft") != 0;
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);
	char names[ATTRIBUTES * 32], *buffer = buffers_get(fs->buffers);
	int n = 0;

	if (!node || !buffer) {
		fuse_reply_err(req, node ? ENOMEM : ESTALE);
	} else {
		for (size_t i = 0; i < ATTRIBUTES; i++)
			if (is_listed(node, attributes[i].name) &&
			    find_value(fs, node, attributes[i].name, buffer, BUFFER_SIZE) >= 0)
				n += sprintf(names + n, "%s", attributes[i].name) + 1;
		reply(req, names, n, size);
	}
	buffers_put(fs->buffers, buffer);
	nodes_put(fs->nodes, node);
}

/* A copy that brings the attributes of another organ along is no error: what the file is, its bytes
 * say. Of metadata they do not say the type. */
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	struct fs *fs = fs_of(req);
	struct node *node;

	(void)flags;
	if (strcmp(name, PREFIX "type") == 0) {
		node = nodes_get(fs->nodes, ino);
		if (node && (ops_has_key_attributes(node) || node->kind == NODE_SCRATCH)) {
			ops_set_key_type(req, node, value, size);
			return;
		}
		nodes_put(fs->nodes, node);
	}
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? 0 : EOPNOTSUPP);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? EPERM : EOPNOTSUPP);
}
