/* SPDX-License-Identifier: MIT */
/* written.h - the files that an assembly wrote: where they are, and whether they are there yet. */
#ifndef FS_WRITTEN_H
#define FS_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Zeros are none. */
struct written {
	size_t n;
	bool unknown; /* one could not be noted */
	struct written_file {
		char *path; /* absolute */
		struct stat stat;
	} * files; /* n of them, as they were added */
};

/* One more, which is open as fd and has that name in the open directory. Where that cannot be
 * noted, written_is_there() is false from then on. */
void written_add(struct written *written, int directory, const char *name, int fd);

/* Is there at least one, and is each what it was, under its name, as far as inode, size and times
 * tell? */
bool written_is_there(const struct written *written);

/* None are there any more. */
void written_release(struct written *written);

#endif
