/* SPDX-License-Identifier: MIT */
/* fresh_directories.h - directories of blocks that a process is filling. In a directory that cp -r
 * made it opens files with O_EXCL, and some are there already: in a directory made inside that of a
 * block the files of the block, elsewhere the θ file that an organ brings with it. The process does
 * not find these before it has created them; all others find every name. */
#ifndef FS_TREE_FRESH_DIRECTORIES_H
#define FS_TREE_FRESH_DIRECTORIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fresh_directories; /* any thread may use it */

struct fresh_directories *fresh_directories_new(void); /* NULL: out of memory */
void fresh_directories_free(struct fresh_directories *fresh);

/* The process of the thread fills the directory. all: each name there is hidden from it, else those
 * of θ files. The last sixteen are kept. */
void fresh_directories_add(struct fresh_directories *fresh, uint64_t directory, bool all,
			   pid_t thread);

/* Does the process of the thread not find the name in the directory before it has created it? */
bool fresh_directories_has(struct fresh_directories *fresh, uint64_t directory, const char *name,
			   pid_t thread);

#endif
