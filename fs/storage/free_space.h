/* SPDX-License-Identifier: MIT */
/* free_space.h - how much room there is on the filesystem of a base, also while that does not
 * answer. */
#ifndef FS_STORAGE_FREE_SPACE_H
#define FS_STORAGE_FREE_SPACE_H

#include <sys/statvfs.h>

struct backing;

/* A filesystem that takes longer is not waited for. */
#define FREE_SPACE_TIMEOUT_MS 500

struct free_space; /* any thread may use it */

/* Of the base's filesystem, or where no file of it can be asked, of that of the directory. Asks
 * it, so that there is something to say. NULL: out of memory. */
struct free_space *free_space_new(struct backing *base, const char *directory);

/* What was not answered yet goes on, and is let go of when it comes back. */
void free_space_free(struct free_space *space); /* NULL is fine */

/* What the filesystem says, or if it does not answer in time, what it said last. It is asked by a
 * thread of its own, one at a time. Returns 0 or -errno. */
int free_space_get(struct free_space *space, struct statvfs *room);

#endif
