/* SPDX-License-Identifier: MIT */
/* ops_views.h - nodes of .views, for the operations. */
#ifndef FS_OPS_VIEWS_H
#define FS_OPS_VIEWS_H

#include "fs/fuse/ops.h"

#include <limits.h>

/* One entry of a directory. */
struct listed {
	char name[NAME_MAX + 1];
	uint64_t ino;
	mode_t type;
	bool known; /* a file of the tensor, whose node takes no making */
	enum node_kind kind;
	struct model *model;
	uint32_t tensor;
};

/* Is it a directory below .views? */
static inline bool ops_is_view_directory(const struct node *node)
{
	return node->kind == NODE_FORM || node->kind == NODE_FORM_CLASS ||
	       node->kind == NODE_EXPERTS;
}

/* Is it a file below .views? */
static inline bool ops_is_view_file(const struct node *node)
{
	return node->kind == NODE_FORMED || node->kind == NODE_EXPERT;
}

/* As ops_find(), for .views, where it finds directories only, and those directories. */
struct node *ops_find_in_views(struct fs *fs, const struct node *directory, const char *name,
			       int *rc);

/* The entry at that place or the next one after it; then *place moves on to it. In .views, the
 * directories. False: there is none. */
bool ops_list_views(const struct node *directory, uint64_t *place, struct listed *entry);

/* The number of the directory above one of those. */
uint64_t ops_view_parent(const struct node *directory);

/* Of such a file: its size in bytes; its content, NULL: no memory; which organ it is, or where it
 * is none, of which it was made. */
uint64_t ops_view_size(const struct node *node);
struct view *ops_view_content(const struct node *node);
struct organ ops_view_organ(const struct node *node);

/* A new inode over an expert or the order of all, in which the caller will write. NULL: no
 * memory. */
struct node *ops_stage_expert(struct fs *fs, const struct node *expert);

/* Put what is staged there in force: 0 or -errno. */
int ops_commit_expert(struct node *node);

#endif
