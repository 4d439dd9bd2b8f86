/* SPDX-License-Identifier: MIT */
/* ops.h - what the FUSE operations share. Each operation finds, acts and replies once. The
 * contracts are those of fuse_lowlevel.h. Nothing is ever sent to the kernel but replies: no
 * inode's content changes, so there is nothing to invalidate. */
#ifndef FS_FUSE_OPS_H
#define FS_FUSE_OPS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fs/mount/mount.h"

extern const struct fuse_lowlevel_ops organfs_ops;

/* For as long as the kernel likes: what it is told does not change. Zero where it may. */
#define FOREVER 1e9

static inline struct mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct open_file *open_file_of(const struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

/* The attributes of an inode, and for how long they hold. */
double ops_attributes(const struct mount *fs, const struct inode *inode, struct stat *attr);

/* Open an inode that the caller releases unless this succeeds: 0 or -errno. */
int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

/* What the kernel is told of the inode that a name has now. */
struct fuse_entry_param ops_entry(const struct mount *fs, const struct inode *inode);

/* Answer a request with that, and release the inode; NULL: with the error rc. */
void ops_reply_entry(fuse_req_t req, struct inode *inode, int rc);

/* ops_node.c */
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

/* ops_dir.c */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ops_file.c */
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t offset, struct fuse_file_info *fi,
			fuse_ino_t ino_out, off_t offset_out, struct fuse_file_info *fi_out,
			size_t size, int flags);

/* ops_write.c */
void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void ops_close(struct mount *fs, struct open_file *handle);
struct async_request;
void ops_reply_released(struct async_request *async, ssize_t result);

/* ops_undo.c */

/* A write, a close and the end of a handle with words; answer the request. The flush is false where
 * there is nothing to do, and so is the release; then they have done nothing. */
void ops_write_undo(fuse_req_t req, struct open_file *handle, const char *bytes, size_t size,
		    uint64_t offset, uint64_t owner);
bool ops_flush_undo(fuse_req_t req, struct open_file *handle, uint64_t owner);
bool ops_release_undo(fuse_req_t req, struct open_file *handle);

/* ops_create.c */

/* What desktops drop everywhere: such names cannot be made. */
bool ops_is_desktop_file(const char *name);

/* The directory with that number, in which names can be changed; to release. NULL with *rc set. */
struct inode *ops_editable(struct mount *fs, fuse_ino_t ino, int *rc);

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ops_root.c */
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);

/* A file in a directory in which none can be made: but what rsync writes beside a file of the root,
 * which becomes a sink. NULL with *rc set, after a line in the log. */
struct inode *ops_create_beside(struct mount *fs, fuse_ino_t directory, const char *name, int *rc);

/* The same for a file that goes, and one that takes another name. Returns 0 or -errno. */
int ops_remove_beside(struct mount *fs, fuse_ino_t directory, const char *name);
int ops_rename_beside(struct mount *fs, fuse_ino_t directory, const char *name,
		      fuse_ino_t new_directory, const char *new_name);

/* Say in the log that the name cannot be made there, and what to do instead. Returns -errno. */
enum refused { REFUSED_FILE, REFUSED_LINK, REFUSED_DIRECTORY, REFUSED_REMOVAL, REFUSED_RENAME };
int ops_refuse(struct mount *fs, fuse_ino_t directory, const char *name, enum refused what);

/* ops_rename.c */
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags);

/* ops_link.c */
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);

/* ops_xattr.c */
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
