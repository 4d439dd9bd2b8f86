/* SPDX-License-Identifier: MIT */
/* mount_files.h - a model in a mount, as its files tell: .table, .grafts, .check. Any program could
 * read them; nothing in them is trusted. */
#ifndef FS_COMMANDS_MOUNT_FILES_H
#define FS_COMMANDS_MOUNT_FILES_H

#include "fs/report/table_parse.h"

struct mount_files {
	struct table table;
	struct table_merge *merge;
	struct figures *figures; /* with their z, and what was made of them */
	char *grafts, *check;	 /* those files */
};

/* Is there such a model in that directory? */
bool mount_files_exist(const char *directory);

/* Read it; the mount measures the tensors not measured yet. An error is said in a line on stderr.
 * Returns 0 or -1; mount_files_release() is due either way. */
int mount_files_read(struct mount_files *witness, const char *directory);
void mount_files_release(struct mount_files *witness);

/* Forget all tensors but those of a class. */
void mount_files_limit(struct mount_files *witness, enum organ_class klass);

#endif
