/* SPDX-License-Identifier: MIT */
/* family_theta.c - θ files: what is written to one is dropped. */
#include "fs/lazy/theta_text.h"
#include "fs/tree/tree.h"

#include <errno.h>

static uint64_t theta_size(const struct inode *inode)
{
	(void)inode;
	return THETA_FILE_SIZE;
}

static struct view *theta_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	const struct subject subject = { inode->index, inode->content };

	*rc = -ENOMEM;
	return theta_file(tree->model_files[inode->model->number].measures, &subject);
}

const struct family family_theta = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
	.computed = true,
	.size = theta_size,
	.open = theta_open,
	.truncate = family_truncate_nothing,
};
