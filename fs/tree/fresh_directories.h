/* SPDX-License-Identifier: MIT */
/* fresh_directories.h - directories of blocks that a process is filling. cp -r opens the files of a
 * directory that it made with O_EXCL, although some exist already: in a directory within that of a
 * block all the block's files, in others the θ file of each new organ. The names are hidden from
 * that process until it has created them; other processes find all names. */
#ifndef FS_TREE_FRESH_DIRECTORIES_H
#define FS_TREE_FRESH_DIRECTORIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fresh_directories; /* any thread may use it */

struct fresh_directories *fresh_directories_new(void); /* NULL: out of memory */
void fresh_directories_free(struct fresh_directories *fresh);

/* Note that the thread's process fills the directory. all: hide all names from it, else those of θ
 * files. The last sixteen notes are kept. */
void fresh_directories_add(struct fresh_directories *fresh, uint64_t directory, bool all,
			   pid_t thread);

/* Is the name in the directory hidden from the thread's process? */
bool fresh_directories_has(struct fresh_directories *fresh, uint64_t directory, const char *name,
			   pid_t thread);

#endif
