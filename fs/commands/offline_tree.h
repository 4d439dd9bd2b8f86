/* SPDX-License-Identifier: MIT */
/* offline_tree.h - the tree of files of one model, as in a mount, without a mount: the families of
 * fs/tree look up, list and open the files. */
#ifndef FS_COMMANDS_OFFLINE_TREE_H
#define FS_COMMANDS_OFFLINE_TREE_H

#include "fs/mount/models.h"
#include "fs/mount/options.h"

struct inode;
struct mount;
struct view;

struct offline_tree {
	struct options options; /* the given ones, with only the first model */
	struct log *log;
	struct models collection;
	struct mount *fs;
	struct model *model; /* borrowed from collection */
};

/* Open the first model that options name, with the grafts of its layer= and its merge in force.
 * options are borrowed and read_only. Returns 0, or -1 after a line on stderr that has the reason;
 * offline_tree_close() is due either way. If model->whole is false, a line on stderr has the names
 * of the shards or organ files that are missing. */
int offline_tree_open(struct offline_tree *tree, const struct options *options);
void offline_tree_close(struct offline_tree *tree);

/* The file or directory at a path like "organs/blk_0_ffn_up.bin", "" for the root, to release with
 * inodes_put(). NULL with *rc set as tree_find(). */
struct inode *offline_tree_find(const struct offline_tree *tree, const char *path, int *rc);

/* The bytes that a reader of the file at that path would see; a link is followed. NULL after a line
 * on stderr. */
struct view *offline_tree_view(const struct offline_tree *tree, const char *path);

/* The text of the file at a path, *size bytes and a NUL, to free. On a terminal the number of
 * measured tensors is shown meanwhile. NULL after a line on stderr. */
char *offline_tree_text(struct offline_tree *tree, const char *path, size_t *size);

#endif
