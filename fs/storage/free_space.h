/* SPDX-License-Identifier: MIT */
/* space.h - how much room there is on the filesystem of a base, also while that does not answer. */
#ifndef FS_SPACE_H
#define FS_SPACE_H

#include "fs/storage/backing.h"

#include <sys/statvfs.h>

/* A filesystem that takes longer is not waited for. */
#define SPACE_PATIENCE_MS 500

struct space; /* any thread may use it */

/* Of the base's filesystem, or where no file of it can be asked, of that of the directory. Asks
 * it, so that there is something to say. NULL: out of memory. */
struct space *space_new(struct backing *base, const char *directory);

/* What was not answered yet goes on, and is let go of when it comes back. */
void space_free(struct space *space); /* NULL is fine */

/* What the filesystem says, or if it does not answer in time, what it said last. It is asked by a
 * thread of its own, one at a time. Returns 0 or -errno. */
int space_get(struct space *space, struct statvfs *room);

#endif
