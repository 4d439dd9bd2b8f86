/* SPDX-License-Identifier: MIT */
/* ops_node.c - names and attributes: lookup, forget, getattr, setattr, statfs. */
#include "fs/fuse/ops_async.h"
#include "fs/fuse/ops_views.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <string.h>

static struct inode *stage_organ(struct mount *fs, const struct inode *organ)
{
	struct model *model = organ->model;
	struct inode made = {
		.ino = inode_new(model), .kind = NODE_STAGE, .index = organ->index, .model = model
	};
	/* What adapters make of it is not written to: they would be merged twice. */
	struct view *view = organ_file_view(model, organ->index, content_own(organ->content));

	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? inodes_add(fs->inodes, &made) : NULL;
}

struct inode *ops_make_stage(struct mount *fs, const struct inode *inode)
{
	switch (inode->kind) {
	case NODE_KEY:
		return ops_stage_key(fs, inode);
	case NODE_SETTING:
		return ops_stage_setting(fs, inode);
	case NODE_EXPERT:
		return ops_stage_expert(fs, inode);
	default:
		return stage_organ(fs, inode);
	}
}

/* Whoever was just refused an open() for writing gets a stage in place of the organ
 * (write_opens.h). */
static struct inode *stage_for_writer(struct mount *fs, pid_t thread, struct inode *organ)
{
	struct inode *stage;
	uint64_t ino;

	if ((organ->kind != NODE_ORGAN && organ->kind != NODE_KEY && organ->kind != NODE_SETTING &&
	     organ->kind != NODE_EXPERT) ||
	    !write_opens_find(fs->writers, thread, ops_slot_number(organ), &ino))
		return organ;
	stage = ino ? inodes_get(fs->inodes, ino) : NULL;
	if (!stage) {
		stage = ops_make_stage(fs, organ);
		if (stage)
			write_opens_set_inode(fs->writers, thread, ops_slot_number(organ),
					      stage->ino);
	}
	inodes_put(fs->inodes, organ);
	return stage;
}

void ops_reply_entry(fuse_req_t req, struct inode *inode)
{
	struct mount *fs = mount_of(req);
	struct fuse_entry_param entry = { .ino = inode->ino, .generation = ops_generation(inode) };

	entry.attr_timeout = ops_attributes(fs, inode, &entry.attr);
	entry.entry_timeout = ops_entry_timeout(fs, inode);
	inodes_count_lookup(fs->inodes, inode);
	/* If the kernel did not take the answer, it will not forget the inode either. */
	if (fuse_reply_entry(req, &entry) < 0)
		inodes_forget(fs->inodes, inode->ino, 1);
}

static void look_up(fuse_req_t req, const struct inode *directory, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc;
	struct inode *inode = ops_find(fs, directory, name, &rc);

	if (inode) {
		inode = stage_for_writer(fs, fuse_req_ctx(req)->pid, inode);
		rc = -ENOMEM;
	}
	if (inode)
		ops_reply_entry(req, inode);
	else
		fuse_reply_err(req, -rc);
	inodes_put(fs->inodes, inode);
}

/* Does what the name shows depend on where links lead? */
static bool is_by_links(struct mount *fs, const struct inode *directory, const char *name)
{
	const size_t n = strlen(name);
	/* An organ that is a link is followed by whoever opens it, unless adapters change it. */
	const bool organ =
		directory->kind == NODE_CLASS && (n < 6 || strcmp(name + n - 6, ".theta") != 0);

	if (directory->kind != NODE_CLASS && directory->kind != NODE_ROOT &&
	    directory->kind != NODE_MODELS && directory->kind != NODE_VIEWS &&
	    directory->kind != NODE_FORM_CLASS && directory->kind != NODE_EXPERTS)
		return false;
	for (uint32_t i = 0; i < fs->models->n; i++) {
		struct model *model = model_latest(fs->models->models[i]);

		if (directory->model && directory->model != model)
			continue;
		if (adapters_broken(model) ||
		    (slots_links(model->slots) && (!organ || adapters_any(model))))
			return true;
	}
	return false;
}

/* What has to be known first. */
static ssize_t look_before(struct async_request *async)
{
	struct mount *fs = async->fs;
	struct inode *inode;
	struct stat attr;
	int rc;

	in_flight_wait(fs->emptied);
	if (is_by_links(fs, async->inode, async->text))
		symlinks_refresh(fs->links, async->inode->model);
	if (!ops_may_block(fs, async->inode, async->text))
		return 0;
	/* It and its size are there then. */
	inode = ops_find(fs, async->inode, async->text, &rc);
	if (inode)
		ops_attributes(fs, inode, &attr);
	inodes_put(fs->inodes, inode);
	return 0;
}

static void drop_lookup(struct async_request *async)
{
	inodes_put(async->fs->inodes, async->inode);
}

static void reply_lookup(struct async_request *async, ssize_t result)
{
	struct mount *fs = mount_of(async->req);
	struct inode *directory = async->inode;

	if (result < 0)
		fuse_reply_err(async->req, (int)-result);
	else
		look_up(async->req, directory, async->text);
	inodes_put(fs->inodes, directory);
}

static void look_up_async(fuse_req_t req, struct inode *directory, const char *name,
			  struct pool *pool)
{
	struct mount *fs = mount_of(req);
	struct async_request *async = async_new(req, strlen(name) + 1);

	if (!async) {
		inodes_put(fs->inodes, directory);
		return;
	}
	strcpy(async->text, name);
	async->run = look_before;
	async->reply = reply_lookup;
	async->drop = drop_lookup;
	async->inode = directory;
	async_submit(async, pool);
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = inodes_get(fs->inodes, parent);

	if (directory && (in_flight_any(fs->emptied) || is_by_links(fs, directory, name))) {
		look_up_async(req, directory, name, fs->link_lookups);
		return;
	}
	if (directory && ops_may_block(fs, directory, name)) {
		look_up_async(req, directory, name, fs->computed_reads);
		return;
	}
	if (directory)
		look_up(req, directory, name);
	else
		fuse_reply_err(req, ESTALE);
	inodes_put(fs->inodes, directory);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	inodes_forget(mount_of(req)->inodes, ino, times);
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		inodes_forget(mount_of(req)->inodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);

	if (inode && ops_is_link(inode))
		fuse_reply_readlink(req, inode->content->target);
	else
		fuse_reply_err(req, inode ? EINVAL : ESTALE);
	inodes_put(fs->inodes, inode);
}

static void reply_attributes(fuse_req_t req, struct mount *fs, struct inode *inode)
{
	struct stat attr;
	const double timeout = ops_attributes(fs, inode, &attr);

	fuse_reply_attr(req, &attr, timeout);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);

	(void)fi;
	if (inode)
		reply_attributes(req, fs, inode);
	else
		fuse_reply_err(req, ESTALE);
	inodes_put(fs->inodes, inode);
}

static int set_key_size(const struct inode *inode, uint64_t size)
{
	const struct metadata_key key = metadata_key(inode->model->metadata, inode->index);
	struct metadata_entry *metadatum = inodes_metadatum(inode);
	uint64_t now = 0;

	if (metadatum)
		metadata_entry_size(metadatum, &now);
	metadata_entry_unref(metadatum);
	if (size == now)
		return 0;
	log_add(inode->model->log,
		"metadata/%s: cannot be truncated by name; the key keeps what it had", key.name);
	return key.fixed ? -EACCES : -EINVAL;
}

static int set_size(struct inode *inode, uint64_t size)
{
	char path[ORGAN_PATH_MAX];

	if (inode->stage)
		return stage_truncate(inode->stage, size);
	/* The truncation that opening for writing brings along. */
	if (ops_discards_writes(inode) || ops_is_undo(inode) ||
	    (inode->kind == NODE_GENERATED && inode->index == GENERATED_ASSEMBLE))
		return 0;
	if (inode->kind == NODE_KEY)
		return set_key_size(inode, size);
	if (inode->kind == NODE_EXPERT)
		return size == ops_view_size(inode) ? 0 : -EINVAL;
	if (inode->kind != NODE_ORGAN)
		return -EACCES;
	if (size == organ_file_size(inode->model, inode->index, inode->content))
		return 0;
	log_add(inode->model->log,
		"%s: truncated by name, an organ would be none any more; "
		"the slot keeps what it had",
		model_organ_path(inode->model, inode->index, path));
	return -EINVAL;
}

/* The stage's inode where the caller is, or has open, a writer without a name (open_files.h). What
 * open() empties comes without the handle, and so do times. */
static struct inode *nameless_stage(fuse_req_t req, fuse_ino_t ino, const struct stat *attr,
				    int to_set, const struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);

	if (fi)
		return open_file_of(fi)->nameless
			       ? inodes_get(fs->inodes, open_file_of(fi)->inode->ino)
			       : NULL;
	if ((to_set & FUSE_SET_ATTR_SIZE) && attr->st_size != 0)
		return NULL;
	return open_files_find_nameless(fs->handles, ino, fuse_req_ctx(req)->pid);
}

/* Of a directory that grafts are in: rsync sets it, and would again and again. */
static void set_directory_time(const struct inode *inode, const struct timespec *time)
{
	if (inode->kind == NODE_CLASS || inode->kind == NODE_METADATA)
		model_set_directory_time(inode->model, ops_directory_number(inode), time);
}

static void set_time(struct mount *fs, const struct inode *meant, const struct stat *attr,
		     int to_set)
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
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	struct inode *stage = nameless_stage(req, ino, attr, to_set, fi);
	struct inode *meant = stage ? stage : inode;
	int rc = inode ? 0 : -ESTALE;

	if (rc == 0 && (to_set & FUSE_SET_ATTR_SIZE))
		rc = set_size(meant, (uint64_t)attr->st_size);
	if (rc == 0)
		set_time(fs, meant, attr, to_set);
	if (rc == 0)
		reply_attributes(req, fs, inode);
	else
		fuse_reply_err(req, -rc);
	inodes_put(fs->inodes, stage);
	inodes_put(fs->inodes, inode);
}

/* The filesystem of the base, in which the mount's bytes lie. */
void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	const struct model_files *mounted =
		inode && inode->model ? mount_model_files(fs, inode) : mount_model_files_at(fs, 0);
	struct statvfs stat;
	const int rc = free_space_get(mounted->space, &stat);

	inodes_put(fs->inodes, inode);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	stat.f_namemax = 255;
	fuse_reply_statfs(req, &stat);
}
