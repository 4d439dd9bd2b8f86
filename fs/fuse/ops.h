/* SPDX-License-Identifier: MIT */
/* ops.h - what the FUSE operations share. Each operation finds, acts and replies once. The
 * contracts are those of fuse_lowlevel.h. Nothing is ever sent to the kernel but replies: no
 * inode's content changes, so there is nothing to invalidate. */
#ifndef FS_OPS_H
#define FS_OPS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fs/mount/mount.h"

extern const struct fuse_lowlevel_ops organfs_ops;

/* For as long as the kernel likes: what it is told does not change. Zero where it may. */
#define FOREVER 1e9

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* The attributes of a node, and for how long they hold. */
double ops_attributes(struct fs *fs, struct node *node, struct stat *attr);

/* May ops_find(), or saying how large the file is, have to read from the base first? Only the first
 * one for a name has to, until the model changes. */
bool ops_is_far(struct fs *fs, const struct node *directory, const char *name);

/* The node that a name in a directory stands for now, to release with nodes_put(). NULL with *rc
 * set: -ENOENT, -ENOMEM, or why a generated file cannot be made. This makes it. */
struct node *ops_find(struct fs *fs, const struct node *directory, const char *name, int *rc);

/* May anything of that model, NULL: of the mount, be changed? */
bool ops_can_graft(const struct fs *fs, const struct model *model);

bool ops_is_directory(const struct node *node);

/* Is the class among the model's directories? */
bool ops_is_listed_class(struct model *model, enum organ_class klass);

/* Of a class's directory, or metadata: what model_directory_time() calls it. */
unsigned ops_directory_number(const struct node *node);

/* Is it a symbolic link? */
bool ops_is_link(const struct node *node);

/* Is what is written to the node dropped? A θ file, or a file of the root that shows the state of
 * the model: whole trees can be copied in. */
bool ops_drops(const struct node *node);

/* Is that number a directory of metadata, in which keys can be changed? */
bool ops_is_metadata(fuse_ino_t ino);

/* Does the name in that directory say where a file belongs: to a slot or key? */
bool ops_is_named(const struct model *model, uint64_t directory, const char *name);

/* "organs/blk_5_ffn_up" and the like: the length of name without ".bin", 0 if it has not that
 * ending or nothing before it. */
size_t ops_slot_name(const char *name);

/* A number for the slot or key of a node or of the stage over it, for writers.h. */
uint64_t ops_slot_number(const struct node *node);

/* A new inode over an organ, a key, a number or an expert, in which the caller will write. NULL:
 * out of memory. */
struct node *ops_make_stage(struct fs *fs, const struct node *node);

/* Open a node that the caller releases unless this succeeds: 0 or -errno. */
int ops_open(fuse_req_t req, struct node *node, struct fuse_file_info *fi);

/* Answer a request with the node that a name has now. */
void ops_reply_entry(fuse_req_t req, struct node *node);

/* Put what is staged in a node in force, if its name says where. Returns 0 or -errno. */
int ops_commit(struct fs *fs, struct node *node);

/* For how long the name of that node may be remembered. */
double ops_entry_timeout(const struct fs *fs, const struct node *node);

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
void ops_commit_and_close(fuse_req_t req, struct handle *handle);
void ops_commit_emptied(fuse_req_t req, struct handle *handle);
void ops_close(struct fs *fs, struct handle *handle);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* ops_undo.c */

/* Is it .undo? */
bool ops_is_undo(const struct node *node);

/* A write, a close and the end of a handle with words; answer the request. The flush is false where
 * there is nothing to do, and so is the release; then they have done nothing. */
void ops_write_words(fuse_req_t req, struct handle *handle, const char *bytes, size_t size,
		     uint64_t offset, uint64_t owner);
bool ops_flush_words(fuse_req_t req, struct handle *handle, uint64_t owner);
bool ops_release_words(fuse_req_t req, struct handle *handle);

/* ops_edit.c */

/* What desktops drop everywhere: such names cannot be made. */
bool ops_is_dropping(const char *name);

/* The directory with that number, in which names can be changed; to release. NULL with *rc set. */
struct node *ops_editable(struct fs *fs, fuse_ino_t ino, int *rc);

/* A node like *made, whose content and stage become the node's, also on failure, entered under a
 * name in a directory in place of the scratch file that has it; to release. NULL with *rc set. */
struct node *ops_add_scratch(struct fs *fs, const struct node *directory, const char *name,
			     const struct node *made, int *rc);

/* The node of a new scratch file that shows view, entered under a name in a directory; to release.
 * NULL with *rc set. */
struct node *ops_make_scratch(struct fs *fs, const struct node *directory, const char *name,
			      struct view *view, int *rc);

/* The node of a new scratch file with what an organ holds, which is not copied, entered under a
 * name in a directory; to release. NULL with *rc set. */
struct node *ops_set_aside(struct fs *fs, const struct node *directory, const char *name,
			   const struct node *organ, int *rc);

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ops_root.c */
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);

/* A new NODE_SINK, to release. NULL: out of memory. */
struct node *ops_make_sink(struct fs *fs, struct model *model);

/* A file in a directory in which none can be made: but what rsync writes beside a file of the root,
 * which becomes a sink. NULL with *rc set, after a line in the log. */
struct node *ops_create_beside(struct fs *fs, fuse_ino_t directory, const char *name, int *rc);

/* The same for a file that goes, and one that takes another name. Returns 0 or -errno. */
int ops_remove_beside(struct fs *fs, fuse_ino_t directory, const char *name);
int ops_rename_beside(struct fs *fs, fuse_ino_t directory, const char *name,
		      fuse_ino_t new_directory, const char *new_name);

/* Say in the log that the name cannot be made there, and what to do instead. Returns -errno. */
enum refused { REFUSED_FILE, REFUSED_LINK, REFUSED_DIRECTORY, REFUSED_REMOVAL, REFUSED_RENAME };
int ops_refuse(struct fs *fs, fuse_ino_t directory, const char *name, enum refused what);

/* Which directory of that class it is, of those that were there one after the other. */
uint64_t ops_generation(const struct node *node);

/* ops_rename.c */
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);

/* ops_symlink.c */
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);

/* The node of a symbolic link that is no slot's, like that content, which becomes the node's,
 * entered under a name in a directory; to release. NULL with *rc set. */
struct node *ops_make_link(struct fs *fs, const struct node *directory, const char *name,
			   struct content *content, int *rc);

/* ops_metadata.c */

/* In metadata, or .base/metadata, as ops_is_far() and ops_find(). */
bool ops_is_far_key(const struct node *directory, const char *name);
struct node *ops_find_key(struct fs *fs, const struct node *directory, const char *name, int *rc);

/* May a file of that name be made in metadata? Returns 0 or -EPERM. */
int ops_check_key(const struct model *model, const char *name);

/* A new inode over the key, in which the caller will write. NULL: out of memory. */
struct node *ops_stage_key(struct fs *fs, const struct node *key);

/* Does the stage over a key, emptied and closed again, make it an empty string? */
bool ops_is_emptied_string(const struct node *node);

/* From one name in metadata to another; answers the request and releases the node. */
void ops_rename_key(fuse_req_t req, struct node *node, const struct node *directory,
		    const char *name, const char *new_name);
void ops_remove_key(fuse_req_t req, struct node *node);

/* The attributes user.organfs.NAME of a node in metadata: the value into text of n bytes. Returns
 * its length, or -ENODATA. */
bool ops_has_key_attributes(const struct node *node);
int ops_key_attribute(const struct node *node, const char *name, char *text, size_t n);

/* Set the type of a key, or of what is to become one; answers the request and releases the node. */
void ops_set_key_type(fuse_req_t req, struct node *node, const char *value, size_t n);

/* ops_adapters.c */

/* In the directory of a model's adapters, does the name say that a file is no organ's? */
bool ops_is_adapter_name(uint64_t directory, const char *name);

/* In adapters, as ops_find(), where the name is such. */
struct node *ops_find_adapter(struct fs *fs, const struct node *directory, const char *name,
			      int *rc);

/* May a file of that name be made there? Returns 0 or -EPERM. */
int ops_check_adapter(const struct model *model, const char *name);

/* A new inode over the number, in which the caller will write. NULL: out of memory. */
struct node *ops_stage_setting(struct fs *fs, const struct node *setting);

/* Answers the request and releases the node. */
void ops_remove_adapter(fuse_req_t req, struct node *node);

/* ops_xattr.c */
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
