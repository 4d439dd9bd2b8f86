/* SPDX-License-Identifier: MIT */
/* mount_files.h - a model in a mount, read from its files .table, .grafts and .check like any other
 * program would. Nothing in these files is trusted. */
#ifndef FS_COMMANDS_MOUNT_FILES_H
#define FS_COMMANDS_MOUNT_FILES_H

#include "fs/report/table_parse.h"

struct mount_files {
	struct table table;
	struct table_merge *merge;
	struct figures *figures; /* with their z and their changes */
	char *grafts, *check;	 /* texts of .grafts and .check */
};

/* Has the directory the files of a model in a mount? */
bool mount_files_exist(const char *directory);

/* Read the files; the mount measures the tensors not measured yet. Returns 0, or -1 after a line on
 * stderr. The caller calls mount_files_release(), also after an error. */
int mount_files_read(struct mount_files *witness, const char *directory);
void mount_files_release(struct mount_files *witness);

/* Drop all tensors except those of a class. */
void mount_files_limit(struct mount_files *witness, enum organ_class klass);

#endif
