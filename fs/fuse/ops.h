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
double ops_attributes(struct mount *fs, struct inode *inode, struct stat *attr);

/* May ops_find(), or saying how large the file is, have to read from the base first? Only the first
 * one for a name has to, until the model changes. */
bool ops_may_block(struct mount *fs, const struct inode *directory, const char *name);

/* The inode that a name in a directory stands for now, to release with inodes_put(). NULL with *rc
 * set: -ENOENT, -ENOMEM, or why a generated file cannot be made. This makes it. */
struct inode *ops_find(struct mount *fs, const struct inode *directory, const char *name, int *rc);

/* May anything of that model, NULL: of the mount, be changed? */
bool ops_can_graft(const struct mount *fs, const struct model *model);

bool ops_is_directory(const struct inode *inode);

/* Is the class among the model's directories? */
bool ops_is_listed_class(struct model *model, enum organ_class klass);

/* Of a class's directory, or metadata: what model_directory_time() calls it. */
unsigned ops_directory_number(const struct inode *inode);

/* Is it a symbolic link? */
bool ops_is_link(const struct inode *inode);

/* Is what is written to the inode dropped? A θ file, or a file of the root that shows the state of
 * the model: whole trees can be copied in. */
bool ops_discards_writes(const struct inode *inode);

/* Is that number a directory of metadata, in which keys can be changed? */
bool ops_is_metadata(fuse_ino_t ino);

/* Does the name in that directory say where a file belongs: to a slot or key? */
bool ops_is_named(const struct model *model, uint64_t directory, const char *name);

/* "organs/blk_5_ffn_up" and the like: the length of name without ".bin", 0 if it has not that
 * ending or nothing before it. */
size_t ops_slot_name(const char *name);

/* A number for the slot or key of an inode or of the stage over it, for write_opens.h. */
uint64_t ops_slot_number(const struct inode *inode);

/* A new inode over an organ, a key, a number or an expert, in which the caller will write. NULL:
 * out of memory. */
struct inode *ops_make_stage(struct mount *fs, const struct inode *inode);

/* Open an inode that the caller releases unless this succeeds: 0 or -errno. */
int ops_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

/* Answer a request with the inode that a name has now. */
void ops_reply_entry(fuse_req_t req, struct inode *inode);

/* Put what is staged in an inode in force, if its name says where. Returns 0 or -errno. */
int ops_commit(struct mount *fs, struct inode *inode);

/* For how long the name of that inode may be remembered. */
double ops_entry_timeout(const struct mount *fs, const struct inode *inode);

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
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ops_write.c */
void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_commit_and_close(fuse_req_t req, struct open_file *handle);
void ops_commit_emptied(fuse_req_t req, struct open_file *handle);
void ops_close(struct mount *fs, struct open_file *handle);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* ops_undo.c */

/* Is it .undo? */
bool ops_is_undo(const struct inode *inode);

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

/* An inode like *made, whose content and stage become the inode's, also on failure, entered under a
 * name in a directory in place of the scratch file that has it; to release. NULL with *rc set. */
struct inode *ops_add_scratch(struct mount *fs, const struct inode *directory, const char *name,
			      const struct inode *made, int *rc);

/* The inode of a new scratch file that shows view, entered under a name in a directory; to release.
 * NULL with *rc set. */
struct inode *ops_make_scratch(struct mount *fs, const struct inode *directory, const char *name,
			       struct view *view, int *rc);

/* The inode of a new scratch file with what an organ holds, which is not copied, entered under a
 * name in a directory; to release. NULL with *rc set. */
struct inode *ops_keep_as_scratch(struct mount *fs, const struct inode *directory, const char *name,
				  const struct inode *organ, int *rc);

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ops_root.c */
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);

/* A new NODE_SINK, to release. NULL: out of memory. */
struct inode *ops_make_sink(struct mount *fs, struct model *model);

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

/* Which directory of that class it is, of those that were there one after the other. */
uint64_t ops_generation(const struct inode *inode);

/* ops_rename.c */
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);

/* ops_symlink.c */
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);

/* The inode of a symbolic link that is no slot's, like that content, which becomes the inode's,
 * entered under a name in a directory; to release. NULL with *rc set. */
struct inode *ops_make_link(struct mount *fs, const struct inode *directory, const char *name,
			    struct content *content, int *rc);

/* ops_metadata.c */

/* In metadata, or .base/metadata, as ops_may_block() and ops_find(). */
bool ops_key_may_block(const struct inode *directory, const char *name);
struct inode *ops_find_key(struct mount *fs, const struct inode *directory, const char *name,
			   int *rc);

/* May a file of that name be made in metadata? Returns 0 or -EPERM. */
int ops_check_key(const struct model *model, const char *name);

/* A new inode over the key, in which the caller will write. NULL: out of memory. */
struct inode *ops_stage_key(struct mount *fs, const struct inode *key);

/* Does the stage over a key, emptied and closed again, make it an empty string? */
bool ops_is_emptied_string(const struct inode *inode);

/* From one name in metadata to another; answers the request and releases the inode. */
void ops_rename_key(fuse_req_t req, struct inode *inode, const struct inode *directory,
		    const char *name, const char *new_name);
void ops_remove_key(fuse_req_t req, struct inode *inode);

/* The attributes user.organfs.NAME of an inode in metadata: the value into text of n bytes. Returns
 * its length, or -ENODATA. */
bool ops_has_key_attributes(const struct inode *inode);
int ops_key_attribute(const struct inode *inode, const char *name, char *text, size_t n);

/* Set the type of a key, or of what is to become one; answers the request and releases the
 * inode. */
void ops_set_key_type(fuse_req_t req, struct inode *inode, const char *value, size_t n);

/* ops_adapters.c */

/* In the directory of a model's adapters, does the name say that a file is no organ's? */
bool ops_is_adapter_name(uint64_t directory, const char *name);

/* In adapters, as ops_find(), where the name is such. */
struct inode *ops_find_adapter(struct mount *fs, const struct inode *directory, const char *name,
			       int *rc);

/* May a file of that name be made there? Returns 0 or -EPERM. */
int ops_check_adapter(const struct model *model, const char *name);

/* A new inode over the number, in which the caller will write. NULL: out of memory. */
struct inode *ops_stage_setting(struct mount *fs, const struct inode *setting);

/* Answers the request and releases the inode. */
void ops_remove_adapter(fuse_req_t req, struct inode *inode);

/* ops_xattr.c */
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
