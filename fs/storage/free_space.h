/* SPDX-License-Identifier: MIT */
/* free_space.h - free space on a base's filesystem, also while the filesystem does not answer. */
#ifndef FS_STORAGE_FREE_SPACE_H
#define FS_STORAGE_FREE_SPACE_H

#include <sys/statvfs.h>

struct backing;

/* longest wait for the filesystem */
#define FREE_SPACE_TIMEOUT_MS 500

struct free_space; /* any thread may use it */

/* Free space on the base's filesystem, or on the directory's if no file of the base is readable.
 * The call queries the filesystem once, without a timeout, so that later calls have a last answer.
 * NULL: out of memory. */
struct free_space *free_space_new(struct backing *base, const char *directory);

/* A query that is still running frees the space when it ends. */
void free_space_free(struct free_space *space); /* NULL is fine */

/* Query the filesystem, by one detached thread at a time. If it does not answer in time, *room is
 * the last answer. Returns 0 or -errno of the last answer. */
int free_space_get(struct free_space *space, struct statvfs *room);

#endif
