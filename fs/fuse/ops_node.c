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

/* The inode to show for an organ: a stage if the thread's open() for writing was just answered with
 * ESTALE (write_opens.h). Consumes the reference to organ. NULL: out of memory. */
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

/* Whether the name is hidden from the thread's process (fresh_directories.h). */
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

/* Whether the file of this name depends on the targets of links. */
static bool is_by_links(struct mount *fs, const struct inode *directory, const char *name)
{
	const size_t n = strlen(name);
	const enum family_links links = family_of(directory)->links;
	/* An organ that is a link is resolved at open() unless adapters change it. */
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

/* Whether the lookup of the name, or the size of its file, may have to read the base. Only the
 * first lookup after a change of the model has to. */
static bool may_block(struct mount *fs, const struct inode *directory, const char *name)
{
	const struct family *family = family_of(directory);

	return family->may_block && family->may_block(&fs->tree, directory, name);
}

/* Wait for closes under way, refresh links and make the file, for reply_lookup(). */
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
	/* Make the file and its size known; reply_lookup() does not try again after a failure. */
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
		pool = mount_measured_reads(fs, directory);
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

/* The stage's inode if the caller is a nameless writer or has one open (open_files.h), to release;
 * else NULL. Truncation by open(), and times, arrive without the handle. */
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
	/* Keep the time of a directory with grafts: each run of rsync sets one that differs. */
	if (!meant->stage && family_of(meant)->grafts && tree_can_graft(&fs->tree, meant->model))
		return model_set_directory_time(meant->model, tree_time_number(meant->ino), &time);
	if (meant->stage)
		stage_set_mtime(meant->stage, &time);
	return 0;
}

/* Times of directories and of files being written are kept. Mode, owner, and times of a file that
 * exists are accepted and ignored, because its inode does not change. */
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
		open_file_record_write(open_file_of(fi), 0, fuse_req_ctx(req)->pid);
	if (rc == 0 && (to_set & FUSE_SET_ATTR_SIZE))
		rc = family_truncate(meant, (uint64_t)attr->st_size);
	if (rc == 0)
		rc = set_time(fs, meant, attr, to_set);
	if (rc == 0) {
		const double timeout = ops_attributes(fs, inode, &now);

		/* The kernel takes this answer even after a notice that the time has changed. */
		fuse_reply_attr(req, &now, family_of(inode)->grafts ? 0 : timeout);
	} else {
		fuse_reply_err(req, -rc);
	}
	inodes_put(fs->inodes, stage);
	inodes_put(fs->inodes, inode);
}

/* Statistics of the filesystem that holds the base. */
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
