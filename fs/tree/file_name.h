/* SPDX-License-Identifier: MIT */
/* file_name.h - a name in a directory of the mount. */
#ifndef FS_TREE_FILE_NAME_H
#define FS_TREE_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct file_name {
	uint64_t directory; /* inode number */
	const char *name;   /* borrowed; NULL: no name */
};

static inline bool file_name_is(const struct file_name *a, const struct file_name *b)
{
	return a->name && b->name && a->directory == b->directory && strcmp(a->name, b->name) == 0;
}

#endif
