/* SPDX-License-Identifier: MIT */
/* ops.c - see ops.h: the table of operations, and the attributes of inodes. */
#include "fs/fuse/ops.h"
#include "fs/edit/stage.h"
#include "fs/fuse/passthrough.h"
#include "fs/model/block_names.h"
#include "fs/model/inode.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/mount/reply_buffers.h"
#include "fs/tree/family.h"

#include <string.h>

/* Ask for features that the kernel offers. Since libfuse 3.17 the feature fields have 64 bits and
 * are set by functions; the fields of 32 bits remain for old programs. */
static void ask_for(struct fuse_conn_info *connection, uint64_t features)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	fuse_set_feature_flag(connection, features);
#else
	connection->want |= connection->capable & (uint32_t)features;
#endif
}

static void do_without(struct fuse_conn_info *connection, uint64_t features)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	fuse_unset_feature_flag(connection, features);
#else
	connection->want &= ~(uint32_t)features;
#endif
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	struct mount *fs = userdata;

	passthrough_init(fs, connection);
	/* The kernel never interrupts O_DIRECT reads that it makes in the background, so a process
	 * that reads from a disk that hangs could not be killed. */
	do_without(connection, FUSE_CAP_ASYNC_DIO);
	/* With ATOMIC_O_TRUNC the kernel empties the pages of an inode at open(), and a process
	 * that maps it gets a SIGBUS. AUTO_INVAL_DATA drops pages when the mtime changes; contents
	 * do not change. */
	do_without(connection, FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA);
	ask_for(connection, FUSE_CAP_EXPLICIT_INVAL_DATA);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
	/* Allow shared maps of computed files, which have direct I/O. */
	ask_for(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
#endif
	/* Without a timeout of names, in a writable mount, a listing's attributes are dropped. */
	if (!fs->options->read_only)
		do_without(connection, FUSE_CAP_READDIRPLUS);
	do_without(connection, FUSE_CAP_READDIRPLUS_AUTO);
	/* The kernel reads at most max_write bytes at once, and takes a shorter answer for the end
	 * of the file. libfuse's default exceeds the reply buffers if pages are large or their
	 * limit is raised. */
	if (connection->max_write > REPLY_BUFFER_SIZE)
		connection->max_write = REPLY_BUFFER_SIZE;
	/* The kernel stops read-ahead of all files while this many requests wait for an answer.
	 * Requests for a disk that hangs wait for long. */
	connection->max_background = 4096;
	connection->congestion_threshold = 3072;
}

const struct fuse_lowlevel_ops organfs_ops = {
	.init = op_init,

	.readlink = op_readlink,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = rights_setattr,
	.statfs = op_statfs,

	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,

	.open = rights_open,
	.create = rights_create,
	.read = op_read,
	.release = op_release,
	.copy_file_range = op_copy_file_range,
	.poll = op_poll,

	.write = op_write,
	.flush = op_flush,
	.fsync = op_fsync,

	.mknod = rights_mknod,
	.mkdir = rights_mkdir,
	.symlink = rights_symlink,
	.link = rights_link,
	.unlink = rights_unlink,
	.rmdir = rights_rmdir,
	.rename = rights_rename,

	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.setxattr = rights_setxattr,
	.removexattr = rights_removexattr,
};

/* In seconds; the kernel rounds it up to one tick of its clock. So the attributes of a file being
 * written are not asked for again right after a lookup; the kernel tracks its own writes. */
#define A_TICK 0.001

/* Whether each graft changes the mtime of the directory (directory_notices.h). */
static bool is_of_grafts(const struct mount *fs, const struct inode *inode)
{
	return family_of(inode)->grafts && tree_can_graft(&fs->tree, inode->model);
}

/* Whether the file has a second name in the directory of a block. */
static bool is_in_block(const struct inode *inode)
{
	return family_of(inode)->in_block && inode_kind(inode->ino) != INODE_BASE_ORGAN &&
	       block_name(&inode->model->places[inode->index]);
}

/* The mode bits of a read-only mount are those of a writable one, as on disks: copies can be
 * changed, and rsync sees no difference. An editor that writes to a key and checks that it is still
 * the same file finds it unchanged, because st_ino is not the inode's number in the kernel. */
double ops_attributes(const struct mount *fs, const struct inode *inode, struct stat *attr)
{
	const struct family *family = family_of(inode);
	const mode_t writing = family->is_fixed && family->is_fixed(inode) ? 0222 : 0;
	const mode_t others = family->is_owner_only && family->is_owner_only(inode) ? 0077 : 0;
	const uint64_t size = family_size(inode);
	/* The directory without a model has those of all models as entries. */
	const nlink_t models = inode->model ? 0 : fs->tree.n_models;

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = family_shown_number(inode);
	attr->st_mode = family->mode & ~(writing | others);
	if (!S_ISLNK(family->mode))
		attr->st_mode &= ~fs->options->umask;
	attr->st_nlink = S_ISDIR(family->mode) ? 2 + family->directories + models
			 : is_in_block(inode)  ? 2
					       : 1;
	attr->st_uid = fs->options->uid;
	attr->st_gid = fs->options->gid;
	attr->st_size = (off_t)size;
	attr->st_blksize = 4096;
	/* model.gguf repeats the bytes of the organs, and du would count the model twice. It counts
	 * as one block: GNU tar --sparse stores a file without blocks as zeros, unread. */
	attr->st_blocks = (blkcnt_t)((size + 511) / 512);
	if (family->is_copy && size)
		attr->st_blocks = 1;
	attr->st_mtim = inode->stage ? stage_shown(inode->stage).mtime : inode->mtime;
	if (is_of_grafts(fs, inode))
		attr->st_mtim =
			model_send_directory_time(inode->model, tree_time_number(inode->ino));
	attr->st_atim = attr->st_ctim = attr->st_mtim;
	/* The layer is opened once the missing shards have come. */
	if (family->grafts && !fs->options->read_only && !is_of_grafts(fs, inode))
		return A_TICK;
	return inode->stage ? A_TICK : FOREVER;
}

static double entry_timeout(const struct mount *fs, const struct inode *inode)
{
	const enum name_lifetime lifetime = family_of(inode)->lifetime;
	const bool whole = !inode->model || inode->model->whole;

	if (lifetime == NAME_FOREVER || (whole && lifetime == NAME_IN_WHOLE))
		return FOREVER;
	if (!fs->options->read_only || lifetime == NAME_NEVER)
		return 0;
	/* Missing shards may still come. */
	return (inode->model ? whole : mount_is_complete(fs)) ? FOREVER : 0;
}

struct fuse_entry_param ops_entry(const struct mount *fs, const struct inode *inode)
{
	const struct family *family = family_of(inode);
	struct fuse_entry_param entry = { .ino = inode->ino };

	if (family->generation)
		entry.generation = family->generation(inode);
	entry.attr_timeout = ops_attributes(fs, inode, &entry.attr);
	/* The kernel takes these attributes even after a notice (directory_notices.c). */
	if (is_of_grafts(fs, inode))
		entry.attr_timeout = A_TICK;
	entry.entry_timeout = entry_timeout(fs, inode);
	return entry;
}

void ops_reply_entry(fuse_req_t req, struct inode *inode, int rc)
{
	struct mount *fs = mount_of(req);
	struct fuse_entry_param entry;

	if (!inode) {
		fuse_reply_err(req, -rc);
		return;
	}
	entry = ops_entry(fs, inode);
	inodes_count_lookup(fs->inodes, inode);
	/* The kernel will not send a FORGET for an answer that it did not take. */
	if (fuse_reply_entry(req, &entry) < 0)
		inodes_forget(fs->inodes, inode->ino, 1);
	inodes_put(fs->inodes, inode);
}
