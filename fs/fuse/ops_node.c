/* SPDX-License-Identifier: MIT */
/* ops_node.c - names and attributes: lookup, forget, getattr, setattr, statfs. */
#include "fs/edit/stage.h"
#include "fs/edit/symlinks.h"
#include "fs/fuse/ops.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "fs/storage/free_space.h"
#include "fs/tree/family.h"
#include "fs/tree/fresh_directories.h"
#include "fs/tree/open_files.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/write_opens.h"
#include "fs/util/in_flight.h"

#include <errno.h>
#include <string.h>

/* A thread that was just refused an open() for writing gets a stage in place of the organ
 * (write_opens.h). */
static struct inode *stage_for_writer(struct mount *fs, pid_t thread, struct inode *organ)
{
	const struct family *family = family_of(organ);
	struct inode *stage;
	uint64_t ino;

	if (!family->stage || !write_opens_find(fs->writers, thread, family->number(organ), &ino))
		return organ;
	stage = ino ? inodes_get(fs->inodes, ino) : NULL;
	if (!stage) {
		stage = family->stage(&fs->tree, organ);
		if (stage)
			write_opens_set_inode(fs->writers, thread, family->number(organ),
					      stage->ino);
	}
	inodes_put(fs->inodes, organ);
	return stage;
}

/* Does the thread's process not find the name, in a directory that it is filling? */
static bool is_hidden(struct mount *fs, const struct inode *directory, const char *name,
		      pid_t thread)
{
	return fresh_directories_has(fs->fresh, directory->ino, name, thread) &&
	       scratch_files_find(fs->scratches, directory->ino, name, NULL) == SCRATCH_NONE;
}

static void look_up(fuse_req_t req, const struct inode *directory, const char *name)
{
	struct mount *fs = mount_of(req);
	int rc = -ENOENT;
	struct inode *inode = NULL;

	if (!is_hidden(fs, directory, name, fuse_req_ctx(req)->pid))
		inode = tree_find(&fs->tree, directory, name, &rc);
	if (inode) {
		inode = stage_for_writer(fs, fuse_req_ctx(req)->pid, inode);
		rc = -ENOMEM;
	}
	ops_reply_entry(req, inode, rc);
}

/* Does what the name shows depend on where links lead? */
static bool is_by_links(struct mount *fs, const struct inode *directory, const char *name)
{
	const size_t n = strlen(name);
	const enum family_links links = family_of(directory)->links;
	/* An organ that is a link is followed when it is opened, unless adapters change it. */
	const bool organ = links == LINKS_OPENED && (n < 6 || strcmp(name + n - 6, ".theta") != 0);

	if (links == LINKS_NO)
		return false;
	for (uint32_t i = 0; i < fs->models->n; i++) {
		struct model *model = model_latest(fs->models->models[i]);

		if (directory->model && directory->model != model)
			continue;
		if (adapters_broken(model) || merge_force_broken(model) ||
		    (slots_links(model->slots) && (!organ || adapters_any(model))))
			return true;
	}
	return false;
}

/* May finding the name, or saying how large the file is, have to read from the base first? Only the
 * first lookup of a name has to, until the model changes. */
static bool may_block(struct mount *fs, const struct inode *directory, const char *name)
{
	const struct family *family = family_of(directory);

	return family->may_block && family->may_block(&fs->tree, directory, name);
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
	if (!may_block(fs, async->inode, async->text))
		return 0;
	/* It and its size are there then. What cannot be made is not tried again for the answer. */
	inode = tree_find(&fs->tree, async->inode, async->text, &rc);
	if (!inode)
		return rc;
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

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	struct inode *directory;
	struct async_request *async;
	struct pool *pool = NULL;

	if (!ops_name_fits(req, name))
		return;
	directory = inodes_get(fs->inodes, parent);
	if (!directory) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	if (in_flight_any(fs->emptied) || is_by_links(fs, directory, name))
		pool = fs->link_lookups;
	else if (may_block(fs, directory, name))
		pool = mount_computed_reads(fs, directory);
	if (!pool) {
		look_up(req, directory, name);
		inodes_put(fs->inodes, directory);
		return;
	}
	async = async_new(req, directory, look_before, name, strlen(name));
	if (!async)
		return;
	async->reply = reply_lookup;
	async->drop = drop_lookup;
	async_submit(async, pool);
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

	if (inode && S_ISLNK(family_of(inode)->mode))
		fuse_reply_readlink(req, inode->content->target);
	else
		fuse_reply_err(req, inode ? EINVAL : ESTALE);
	inodes_put(fs->inodes, inode);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	struct stat attr;

	(void)fi;
	if (inode) {
		const double timeout = ops_attributes(fs, inode, &attr);

		fuse_reply_attr(req, &attr, timeout);
	} else {
		fuse_reply_err(req, ESTALE);
	}
	inodes_put(fs->inodes, inode);
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

static int set_time(struct mount *fs, const struct inode *meant, const struct stat *attr,
		    int to_set)
{
	struct timespec time = attr->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)))
		return 0;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &time);
	/* Of a directory that grafts are in: rsync sets it, and would again and again. */
	if (!meant->stage && family_of(meant)->grafts && tree_can_graft(&fs->tree, meant->model))
		return model_set_directory_time(meant->model, tree_time_number(meant->ino), &time);
	if (meant->stage)
		stage_set_mtime(meant->stage, &time);
	return 0;
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
	struct stat now;
	int rc = inode ? 0 : -ESTALE;

	if (rc == 0 && (to_set & FUSE_SET_ATTR_SIZE) && !ops_can_write(fs, meant))
		rc = -ESTALE;
	if (rc == 0 && fi && (to_set & FUSE_SET_ATTR_SIZE))
		open_file_begin(open_file_of(fi), 0, fuse_req_ctx(req)->pid);
	if (rc == 0 && (to_set & FUSE_SET_ATTR_SIZE))
		rc = family_truncate(meant, (uint64_t)attr->st_size);
	if (rc == 0)
		rc = set_time(fs, meant, attr, to_set);
	if (rc == 0) {
		const double timeout = ops_attributes(fs, inode, &now);

		/* This answer the kernel takes also behind a word that the time has changed. */
		fuse_reply_attr(req, &now, family_of(inode)->grafts ? 0 : timeout);
	} else {
		fuse_reply_err(req, -rc);
	}
	inodes_put(fs->inodes, stage);
	inodes_put(fs->inodes, inode);
}

/* The filesystem of the base, in which the mount's bytes lie. */
void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	const struct model_files *files =
		inode && inode->model ? mount_model_files(fs, inode) : mount_model_files_at(fs, 0);
	struct statvfs stat;
	const int rc = free_space_get(files->space, &stat);

	inodes_put(fs->inodes, inode);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	stat.f_namemax = 255;
	fuse_reply_statfs(req, &stat);
}
