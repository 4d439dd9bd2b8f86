/* SPDX-License-Identifier: MIT */
/* layer_open.h - every open() of a file in a layer. A layer may come from somewhere else, so that
 * any name in it may be a FIFO, a device, a socket or a link to one: nothing here waits for the
 * other end of a FIFO, opens a device or follows a link. */
#ifndef FS_LAYER_LAYER_OPEN_H
#define FS_LAYER_LAYER_OPEN_H

#include <dirent.h>
#include <stdbool.h>

/* Open a regular file for reading. Returns a descriptor to close, or -errno: -ELOOP it is a
 * symbolic link, -EISDIR a directory, -EINVAL it is something else that is no regular file. */
int layer_open_file(int dir, const char *name);

/* Is that errno value of the disk, or of what this process may have, and not of what a file holds?
 * Then the file may be read by the next mount, and it must not be gone on without it. */
bool layer_is_unread(int code);

/* Is there a file of that name, of any kind? 1 or 0, or -errno: that cannot be told. */
int layer_has_file(int dir, const char *name);

/* What that -errno says of the file. */
const char *layer_open_error(int rc);

/* Make a new file, open for reading and writing, in the place of one that an interrupted mount
 * left. Returns a descriptor to close, or -errno. */
int layer_create_file(int dir, const char *name);

/* The entries of a directory of the layer whose own is dir, -1 if it has none. NULL: there is none,
 * and *rc is 0, or *rc is -errno. */
DIR *layer_list(int dir, const char *name, int *rc);

/* The next entry but "." and "..", borrowed. NULL: entries, which may be NULL, are closed; those
 * were all, or *rc is -errno. */
const char *layer_list_next(DIR *entries, int *rc);

#endif
