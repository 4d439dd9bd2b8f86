/* SPDX-License-Identifier: MIT */
/* fresh_directories.h - directories of blocks that a process has made with mkdir(2). In a directory
 * that cp -r made it opens files with O_EXCL, and the files of a block may be there already: that
 * process finds in the directory only the names that it has created there; all others find every
 * name. */
#ifndef FS_TREE_FRESH_DIRECTORIES_H
#define FS_TREE_FRESH_DIRECTORIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fresh_directories; /* any thread may use it */

struct fresh_directories *fresh_directories_new(void); /* NULL: out of memory */
void fresh_directories_free(struct fresh_directories *fresh);

/* A thread of another process has made the directory. The last sixteen are kept. */
void fresh_directories_add(struct fresh_directories *fresh, uint64_t directory, pid_t thread);

/* Has the process of the thread made the directory? */
bool fresh_directories_has(struct fresh_directories *fresh, uint64_t directory, pid_t thread);

#endif
