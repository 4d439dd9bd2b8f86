/* SPDX-License-Identifier: MIT */
/* ops.h - what the FUSE operations share. Each operation finds, acts and replies once. The
 * contracts are those of fuse_lowlevel.h. Nothing is sent to the kernel but replies, which files it
 * may read by itself (passthrough.h), which directories have another time (directory_notes.h), and
 * that .grafts or .log may be another file (ops_poll.c): contents never change, so no page is
 * dropped. */
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

/* Open an inode that the caller releases unless this succeeds: 0 or -errno. It is for the daemon to
 * read, unless its handle has a mode: then it is to be decided how (read_modes.h). */
int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

/* May a process write to the inode, or set its size? False, with a line in the log: it is a stage
 * that was put in force. Pages of a map are taken all the same: no process can be told. */
bool ops_can_write(struct mount *fs, const struct inode *inode);

/* How the inode is read: as it is open, or else as it would be opened to read now, for which disks
 * are asked. */
enum read_way ops_read_way(struct mount *fs, const struct inode *inode);

/* What the kernel is told of the inode that a name has now. */
struct fuse_entry_param ops_entry(const struct mount *fs, const struct inode *inode);

/* Answer a request with that, and release the inode; NULL: with the error rc. */
void ops_reply_entry(fuse_req_t req, struct inode *inode, int rc);

/* ops_async.c: a request that is answered by a job in a pool, because it may take long. */

struct async_request {
	fuse_req_t req;
	/* On a thread of the pool: run, then reply to req. What run returns is reply's result. */
	ssize_t (*run)(struct async_request *async);
	/* The reply is the last thing that may be done with req. */
	void (*reply)(struct async_request *async, ssize_t result);
	/* NULL: who asked waits for run, whatever happens. Else: if run has not returned a moment
	 * after an interrupt, the answer is EINTR, and when run returns, drop lets go of what the
	 * other two hold. It knows no req any more. */
	void (*drop)(struct async_request *async);
	struct mount *fs;
	/* The caller was interrupted, or the mount ends: run may end with -EINTR. */
	atomic_bool stop;
	struct stop_flag stop_read; /* of a read that computes, or words obeyed, while it runs */
	/* For run and reply, as op needs them. */
	struct open_file *handle;
	struct inode *inode;
	char *buffer;
	size_t size;
	uint64_t offset;
	bool computes;
	struct view *view;
	struct page_trail *trail;
	/* Of ops_async.c. */
	atomic_uint refs;
	atomic_bool answered;
	pid_t thread; /* that asked; 0: not known */
	struct timespec interrupted, looked;
	_Alignas(8) char text[]; /* or a structure */
};

/* A request to be answered by a job: run, then async_reply(), unless the caller sets another reply.
 * It has a copy of the n bytes of text, NULL: so many zeros, and a NUL after them. inode, which may
 * be NULL, is the request's from then on. NULL: it was released, and the answer was ENOMEM. */
struct async_request *async_new(fuse_req_t req, struct inode *inode,
				ssize_t (*run)(struct async_request *async), const void *text,
				size_t n);

/* Release the inode and say what run has returned. */
void async_reply(struct async_request *async, ssize_t result);

/* Act and reply on this thread, and free it. */
void async_run_now(struct async_request *async);

/* Hand it to the pool, which frees it after the reply. If that fails, reply gets -errno now. */
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
void ops_close(struct mount *fs, struct open_file *handle);

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

/* The inode that a name in a directory stands for now, to release. NULL with *rc set: -ESTALE there
 * is no such directory any more, or as tree_find(). */
struct inode *ops_find_in(struct mount *fs, fuse_ino_t directory, const char *name, int *rc);

/* The directory, to release, if it is a root and the name that of the importance matrix, which can
 * be linked there. NULL: it is not. */
struct inode *ops_root_of_importance(struct mount *fs, fuse_ino_t directory, const char *name);

/* The file of that name in a directory in which that one comes and goes (family.h), to release.
 * NULL: there is none, or it is another name. */
struct inode *ops_find_created(struct mount *fs, fuse_ino_t directory, const char *name);

/* A file in a directory in which none can be made: but that one; and what rsync writes beside a
 * file of the root, which becomes a sink. NULL with *rc set, after a line in the log. */
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

/* No longer than names on disks are, to which the kernel does not see. False: the answer was
 * ENAMETOOLONG. */
bool ops_name_fits(fuse_req_t req, const char *name);

/* ops_rights.c: those operations that change something, if the process that asks may; else the
 * answer is EPERM, with a line in the log. */
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
