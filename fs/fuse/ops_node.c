/* SPDX-License-Identifier: MIT */
/* ops_node.c - names and attributes: lookup, forget, getattr, setattr, statfs. */
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <string.h>

static struct node *stage_organ(struct fs *fs, const struct node *organ)
{
	struct model *model = organ->model;
	struct node made = {
		.ino = inode_new(model), .kind = NODE_STAGE, .index = organ->index, .model = model
	};
	/* What adapters make of it is not written to: they would be merged twice. */
	struct view *view = files_organ(model, organ->index, content_own(organ->content));

	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? nodes_add(fs->nodes, &made) : NULL;
}

struct node *ops_make_stage(struct fs *fs, const struct node *node)
{
	switch (node->kind) {
	case NODE_KEY:
		return ops_stage_key(fs, node);
	case NODE_SETTING:
		return ops_stage_setting(fs, node);
	case NODE_EXPERT:
		return ops_stage_expert(fs, node);
	default:
		return stage_organ(fs, node);
	}
}

/* Whoever was just refused an open() for writing gets a stage in place of the organ (writers.h). */
static struct node *stage_for_writer(struct fs *fs, pid_t thread, struct node *organ)
{
	struct node *stage;
	uint64_t ino;

	if ((organ->kind != NODE_ORGAN && organ->kind != NODE_KEY && organ->kind != NODE_SETTING &&
	     organ->kind != NODE_EXPERT) ||
	    !writers_find(fs->writers, thread, ops_slot_number(organ), &ino))
		return organ;
	stage = ino ? nodes_get(fs->nodes, ino) : NULL;
	if (!stage) {
		stage = ops_make_stage(fs, organ);
		if (stage)
			writers_made(fs->writers, thread, ops_slot_number(organ), stage->ino);
	}
	nodes_put(fs->nodes, organ);
	return stage;
}

void ops_reply_entry(fuse_req_t req, struct node *node)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry = { .ino = node->ino, .generation = ops_generation(node) };

	entry.attr_timeout = ops_attributes(fs, node, &entry.attr);
	entry.entry_timeout = ops_entry_timeout(fs, node);
	nodes_told(fs->nodes, node);
	/* If the kernel did not take the answer, it will not forget the node either. */
	if (fuse_reply_entry(req, &entry) < 0)
		nodes_forget(fs->nodes, node->ino, 1);
}

static void look_up(fuse_req_t req, const struct node *directory, const char *name)
{
	struct fs *fs = fs_of(req);
	int rc;
	struct node *node = ops_find(fs, directory, name, &rc);

	if (node) {
		node = stage_for_writer(fs, fuse_req_ctx(req)->pid, node);
		rc = -ENOMEM;
	}
	if (node)
		ops_reply_entry(req, node);
	else
		fuse_reply_err(req, -rc);
	nodes_put(fs->nodes, node);
}

/* Does what the name shows depend on where links lead? */
static bool is_by_links(struct fs *fs, const struct node *directory, const char *name)
{
	const size_t n = strlen(name);
	/* An organ that is a link is followed by whoever opens it, unless adapters change it. */
	const bool organ =
		directory->kind == NODE_CLASS && (n < 6 || strcmp(name + n - 6, ".theta") != 0);

	if (directory->kind != NODE_CLASS && directory->kind != NODE_ROOT &&
	    directory->kind != NODE_MODELS && directory->kind != NODE_VIEWS &&
	    directory->kind != NODE_FORM_CLASS && directory->kind != NODE_EXPERTS)
		return false;
	for (uint32_t i = 0; i < fs->collection->n; i++) {
		struct model *model = model_now(fs->collection->models[i]);

		if (directory->model && directory->model != model)
			continue;
		if (adapters_broken(model) ||
		    (slots_links(model->slots) && (!organ || adapters_any(model))))
			return true;
	}
	return false;
}

/* What has to be known first. */
static ssize_t look_before(struct later *later)
{
	struct fs *fs = later->fs;
	struct node *node;
	struct stat attr;
	int rc;

	pending_wait(fs->emptied);
	if (is_by_links(fs, later->node, later->text))
		links_refresh(fs->links, later->node->model);
	if (!ops_is_far(fs, later->node, later->text))
		return 0;
	/* It and its size are there then. */
	node = ops_find(fs, later->node, later->text, &rc);
	if (node)
		ops_attributes(fs, node, &attr);
	nodes_put(fs->nodes, node);
	return 0;
}

static void drop_lookup(struct later *later)
{
	nodes_put(later->fs->nodes, later->node);
}

static void reply_lookup(struct later *later, ssize_t result)
{
	struct fs *fs = fs_of(later->req);
	struct node *directory = later->node;

	if (result < 0)
		fuse_reply_err(later->req, (int)-result);
	else
		look_up(later->req, directory, later->text);
	nodes_put(fs->nodes, directory);
}

static void look_up_later(fuse_req_t req, struct node *directory, const char *name,
			  struct pool *pool)
{
	struct fs *fs = fs_of(req);
	struct later *later = later_new(req, strlen(name) + 1);

	if (!later) {
		nodes_put(fs->nodes, directory);
		return;
	}
	strcpy(later->text, name);
	later->act = look_before;
	later->reply = reply_lookup;
	later->drop = drop_lookup;
	later->node = directory;
	later_submit(later, pool);
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *directory = nodes_get(fs->nodes, parent);

	if (directory && (pending_any(fs->emptied) || is_by_links(fs, directory, name))) {
		look_up_later(req, directory, name, fs->lookers);
		return;
	}
	if (directory && ops_is_far(fs, directory, name)) {
		look_up_later(req, directory, name, fs->makers);
		return;
	}
	if (directory)
		look_up(req, directory, name);
	else
		fuse_reply_err(req, ESTALE);
	nodes_put(fs->nodes, directory);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	nodes_forget(fs_of(req)->nodes, ino, times);
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		nodes_forget(fs_of(req)->nodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);

	if (node && ops_is_link(node))
		fuse_reply_readlink(req, node->content->target);
	else
		fuse_reply_err(req, node ? EINVAL : ESTALE);
	nodes_put(fs->nodes, node);
}

static void reply_attributes(fuse_req_t req, struct fs *fs, struct node *node)
{
	struct stat attr;
	const double timeout = ops_attributes(fs, node, &attr);

	fuse_reply_attr(req, &attr, timeout);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);

	(void)fi;
	if (node)
		reply_attributes(req, fs, node);
	else
		fuse_reply_err(req, ESTALE);
	nodes_put(fs->nodes, node);
}

static int set_key_size(const struct node *node, uint64_t size)
{
	const struct metadata_key key = metadata_key(node->model->metadata, node->index);
	struct metadatum *metadatum = nodes_metadatum(node);
	uint64_t now = 0;

	if (metadatum)
		metadatum_size(metadatum, &now);
	metadatum_unref(metadatum);
	if (size == now)
		return 0;
	log_add(node->model->log,
		"metadata/%s: cannot be truncated by name; the key keeps what it had", key.name);
	return key.fixed ? -EACCES : -EINVAL;
}

static int set_size(struct node *node, uint64_t size)
{
	char path[ORGAN_PATH_MAX];

	if (node->stage)
		return stage_truncate(node->stage, size);
	/* The truncation that opening for writing brings along. */
	if (ops_drops(node) || ops_is_undo(node) ||
	    (node->kind == NODE_GENERATED && node->index == GENERATED_ASSEMBLE))
		return 0;
	if (node->kind == NODE_KEY)
		return set_key_size(node, size);
	if (node->kind == NODE_EXPERT)
		return size == ops_view_size(node) ? 0 : -EINVAL;
	if (node->kind != NODE_ORGAN)
		return -EACCES;
	if (size == files_organ_size(node->model, node->index, node->content))
		return 0;
	log_add(node->model->log,
		"%s: truncated by name, an organ would be none any more; "
		"the slot keeps what it had",
		model_organ_path(node->model, node->index, path));
	return -EINVAL;
}

/* The stage's node where the caller is, or has open, a writer without a name (handles.h). What
 * open() empties comes without the handle, and so do times. */
static struct node *nameless_stage(fuse_req_t req, fuse_ino_t ino, const struct stat *attr,
				   int to_set, const struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	if (fi)
		return handle_of(fi)->nameless ? nodes_get(fs->nodes, handle_of(fi)->node->ino)
					       : NULL;
	if ((to_set & FUSE_SET_ATTR_SIZE) && attr->st_size != 0)
		return NULL;
	return handles_nameless(fs->handles, ino, fuse_req_ctx(req)->pid);
}

/* Of a directory that grafts are in: rsync sets it, and would again and again. */
static void set_directory_time(const struct node *node, const struct timespec *time)
{
	if (node->kind == NODE_CLASS || node->kind == NODE_METADATA)
		model_set_directory_time(node->model, ops_directory_number(node), time);
}

static void set_time(struct fs *fs, const struct node *meant, const struct stat *attr, int to_set)
{
	struct timespec time = attr->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)))
		return;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &time);
	if (meant->stage)
		stage_set_mtime(meant->stage, &time);
	else if (ops_can_graft(fs, meant->model))
		set_directory_time(meant, &time);
}

/* Times of a directory and of a file being written are kept; mode and owner are accepted and
 * ignored, as are times of a file that is there already: an inode does not change. */
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);
	struct node *stage = nameless_stage(req, ino, attr, to_set, fi);
	struct node *meant = stage ? stage : node;
	int rc = node ? 0 : -ESTALE;

	if (rc == 0 && (to_set & FUSE_SET_ATTR_SIZE))
		rc = set_size(meant, (uint64_t)attr->st_size);
	if (rc == 0)
		set_time(fs, meant, attr, to_set);
	if (rc == 0)
		reply_attributes(req, fs, node);
	else
		fuse_reply_err(req, -rc);
	nodes_put(fs->nodes, stage);
	nodes_put(fs->nodes, node);
}

/* The filesystem of the base, in which the mount's bytes lie. */
void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct node *node = nodes_get(fs->nodes, ino);
	const struct mounted *mounted = node && node->model ? fs_mounted(fs, node) : fs_now(fs, 0);
	struct statvfs stat;
	const int rc = space_get(mounted->space, &stat);

	nodes_put(fs->nodes, node);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	stat.f_namemax = 255;
	fuse_reply_statfs(req, &stat);
}
