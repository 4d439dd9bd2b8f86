/* SPDX-License-Identifier: MIT */
/* family_sink.c - empty files that drop what is written to them, so that whole trees can be copied
 * in and removed. */
#include "fs/model/inode.h"
#include "fs/tree/tree.h"

struct inode *tree_make_sink(const struct tree *tree, struct model *model)
{
	struct inode made = { .ino = inode_new(model), .family = FAMILY_SINK, .model = model };

	made.mtime = model_time(model);
	made.view = view_new(NULL, 0, NULL);
	return made.view ? inodes_add(tree->inodes, &made) : NULL;
}

const struct family family_sink = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
	.nothing = true,
	.size = family_view_size,
	.truncate = family_truncate_nothing,
};
