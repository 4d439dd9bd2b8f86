/* SPDX-License-Identifier: MIT */
/* written_files.h - the files that an assembly wrote: where they are, and whether they are there
 * yet. */
#ifndef FS_ASSEMBLE_WRITTEN_FILES_H
#define FS_ASSEMBLE_WRITTEN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Zeros are none. */
struct written_files {
	size_t n;
	bool unknown; /* one could not be noted */
	struct written_file {
		char *path; /* absolute */
		struct stat stat;
	} * files; /* n of them, as they were added */
};

/* The path of the name in the open directory, to free. NULL: it cannot be told. */
char *written_files_path(int directory, const char *name);

/* One more, which is open as fd and has that name in the open directory. Where that cannot be
 * noted, written_files_exist() is false from then on. */
void written_files_add(struct written_files *written, int directory, const char *name, int fd);

/* Is there at least one, and is each what it was, under its name, as far as inode, size and times
 * tell? */
bool written_files_exist(const struct written_files *written);

/* None are there any more. */
void written_files_release(struct written_files *written);

#endif
