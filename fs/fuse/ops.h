/* SPDX-License-Identifier: MIT */
/* ops.h - declarations shared by the FUSE operations. Each operation finds its inode, acts and
 * replies once. The contracts are those of fuse_lowlevel.h. Besides replies the kernel is sent
 * only: files that it may read by itself (passthrough.h), changed times of directories
 * (directory_notices.h), and changes of .grafts and .log (pollers.h). No page is invalidated:
 * contents never change. */
#ifndef FS_FUSE_OPS_H
#define FS_FUSE_OPS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fs/tree/read_modes.h"
#include "fs/util/stop_flags.h"

struct inode;
struct mount;
struct open_file;
struct pool;

extern const struct fuse_lowlevel_ops organfs_ops;

/* Timeout of a reply that never becomes stale, in seconds. */
#define FOREVER 1e9

static inline struct mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct open_file *open_file_of(const struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

/* Fill in the attributes of an inode. Returns the seconds for which they are valid. */
double ops_attributes(const struct mount *fs, const struct inode *inode, struct stat *attr);

/* Open an inode; the reference becomes the handle's on success. Returns 0 or -errno. If the handle
 * has a mode (read_modes.h), the caller has still to find out whether the kernel reads the inode;
 * otherwise the daemon reads it. */
int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

/* Whether a process may write to the inode or set its size. False, after a line in the log, for a
 * stage that is in force. Write-back pages of a map are accepted all the same: no process would see
 * the error. */
bool ops_can_write(struct mount *fs, const struct inode *inode);

/* The way in which an open inode is read, or would be if opened now, for which disks are asked. */
enum read_way ops_read_way(struct mount *fs, const struct inode *inode);

/* The kernel's directory entry for an inode. */
struct fuse_entry_param ops_entry(const struct mount *fs, const struct inode *inode);

/* Answer with the entry of the inode and release the inode; if inode is NULL, with the error rc. */
void ops_reply_entry(fuse_req_t req, struct inode *inode, int rc);

/* ops_async.c: requests that may take long and are answered by a job in a pool. */

struct async_request {
	fuse_req_t req;
	/* A thread of the pool calls run, then reply with run's result. */
	ssize_t (*run)(struct async_request *async);
	/* reply must not touch req after it has answered. */
	void (*reply)(struct async_request *async, ssize_t result);
	/* Called instead of reply if an interrupt was answered with EINTR before run returned;
	 * releases the resources of run and reply, and must not touch req. NULL: the process waits
	 * for run even if interrupted. */
	void (*drop)(struct async_request *async);
	struct mount *fs;
	/* set by an interrupt, or through stop_read: run may return -EINTR */
	atomic_bool stop;
	/* sets stop at the end of the mount; registered while run computes bytes or obeys words */
	struct stop_flag stop_read;
	/* Arguments of run and reply; each operation sets those that it needs. */
	struct open_file *handle;
	struct inode *inode;
	char *buffer;
	size_t size;
	uint64_t offset;
	bool computes;
	struct view *view;
	struct page_trail *trail;
	/* Private to ops_async.c. */
	atomic_uint refs;
	atomic_bool answered;
	pid_t thread; /* that sent the request; 0: unknown */
	struct timespec interrupted, looked;
	_Alignas(8) char text[]; /* a string or a structure */
};

/* A request for a job that calls run, then async_reply() unless the caller sets another reply. text
 * is copied, n bytes and a NUL; NULL stands for n zeros. The request takes the reference to inode,
 * which may be NULL. NULL: inode was released, and the answer was ENOMEM. */
struct async_request *async_new(fuse_req_t req, struct inode *inode,
				ssize_t (*run)(struct async_request *async), const void *text,
				size_t n);

/* Release the inode and answer with run's result, 0 or -errno. */
void async_reply(struct async_request *async, ssize_t result);

/* Call run and reply on this thread, then free the request. */
void async_run_now(struct async_request *async);

/* Queue the request in the pool, which frees it after the reply; on failure call reply with
 * -errno. */
void async_submit(struct async_request *async, struct pool *pool);

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
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* ops_open.c, ops_file.c */
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t offset, struct fuse_file_info *fi,
			fuse_ino_t ino_out, off_t offset_out, struct fuse_file_info *fi_out,
			size_t size, int flags);

/* ops_poll.c */
void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	     struct fuse_pollhandle *handle);

/* ops_write.c */
void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* Free an open file at its release, or if its open() was not answered. close(2) is op_flush(). */
void ops_free_open_file(struct mount *fs, struct open_file *handle);

/* ops_create.c */

/* Whether desktops write files of this name into every directory; such names are refused. */
bool ops_is_desktop_file(const char *name);

/* The directory with that number, to release, if its names can be changed; else NULL, *rc set. */
struct inode *ops_editable(struct mount *fs, fuse_ino_t ino, int *rc);

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ops_root.c */
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);

/* The current inode of a name in a directory, to release. NULL with *rc set: -ESTALE if the
 * directory is gone, or an error of tree_find(). */
struct inode *ops_find_in(struct mount *fs, fuse_ino_t directory, const char *name, int *rc);

/* The directory, to release, if it is a root and name is that of the importance matrix; else
 * NULL. */
struct inode *ops_root_of_importance(struct mount *fs, fuse_ino_t directory, const char *name);

/* The file of that name, to release, if the directory's family lets this name come and go
 * (family.h) and it exists; else NULL. */
struct inode *ops_find_created(struct mount *fs, fuse_ino_t directory, const char *name);

/* Create a file in a directory that takes no new names. Two names are allowed: the one of
 * ops_find_created(), and rsync's temporary name of a file of the root, whose bytes are discarded.
 * NULL with *rc set, after a line in the log. */
struct inode *ops_create_beside(struct mount *fs, fuse_ino_t directory, const char *name, int *rc);

/* Remove or rename such a file. Returns 0 or -errno. */
int ops_remove_beside(struct mount *fs, fuse_ino_t directory, const char *name);
int ops_rename_beside(struct mount *fs, fuse_ino_t directory, const char *name,
		      fuse_ino_t new_directory, const char *new_name);

/* Log that the name cannot be made, removed or renamed, with advice. Returns -errno. */
enum refused {
	REFUSED_FILE,
	REFUSED_LINK,
	REFUSED_DIRECTORY,
	REFUSED_SPECIAL,
	REFUSED_REMOVAL,
	REFUSED_RENAME
};
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

/* Whether the name is at most NAME_MAX bytes long, which the kernel does not check. False: the
 * answer was ENAMETOOLONG. */
bool ops_name_fits(fuse_req_t req, const char *name);

/* ops_rights.c: the operations that change something. Each checks the rights of the process; if it
 * has none, the answer is EPERM, with a line in the log. */
void rights_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void rights_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		    struct fuse_file_info *fi);
void rights_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *fi);
void rights_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void rights_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void rights_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void rights_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void rights_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void rights_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void rights_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		   const char *new_name, unsigned flags);
void rights_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
		     size_t size, int flags);
void rights_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
