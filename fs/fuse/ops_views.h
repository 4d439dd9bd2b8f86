/* SPDX-License-Identifier: MIT */
/* ops_views.h - inodes of .views, for the operations. */
#ifndef FS_FUSE_OPS_VIEWS_H
#define FS_FUSE_OPS_VIEWS_H

#include "fs/fuse/ops.h"

#include <limits.h>

/* One entry of a directory. */
struct listed {
	char name[NAME_MAX + 1];
	uint64_t ino;
	mode_t type;
	bool known; /* a file of the tensor, whose inode takes no making */
	enum node_kind kind;
	struct model *model;
	uint32_t tensor;
};

/* Is it a directory below .views? */
static inline bool ops_is_view_directory(const struct inode *inode)
{
	return inode->kind == NODE_FORM || inode->kind == NODE_FORM_CLASS ||
	       inode->kind == NODE_EXPERTS;
}

/* Is it a file below .views? */
static inline bool ops_is_view_file(const struct inode *inode)
{
	return inode->kind == NODE_FORMED || inode->kind == NODE_EXPERT;
}

/* As ops_find(), for .views, where it finds directories only, and those directories. */
struct inode *ops_find_in_views(struct mount *fs, const struct inode *directory, const char *name,
				int *rc);

/* The entry at that place or the next one after it; then *place moves on to it. In .views, the
 * directories. False: there is none. */
bool ops_list_views(const struct inode *directory, uint64_t *place, struct listed *entry);

/* The number of the directory above one of those. */
uint64_t ops_view_parent(const struct inode *directory);

/* Of such a file: its size in bytes; its content, NULL: no memory; which organ it is, or where it
 * is none, of which it was made. */
uint64_t ops_view_size(const struct inode *inode);
struct view *ops_view_content(const struct inode *inode);
struct organ ops_view_organ(const struct inode *inode);

/* A new inode over an expert or the order of all, in which the caller will write. NULL: no
 * memory. */
struct inode *ops_stage_expert(struct mount *fs, const struct inode *expert);

/* Put what is staged there in force: 0 or -errno. */
int ops_commit_expert(struct inode *inode);

#endif
