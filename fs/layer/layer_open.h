/* SPDX-License-Identifier: MIT */
/* layer_open.h - opening of files in a layer. A layer may come from anywhere, and any name in it
 * may be a FIFO, a device, a socket or a link: these functions do not block on a FIFO, open no
 * device and follow no link. */
#ifndef FS_LAYER_LAYER_OPEN_H
#define FS_LAYER_LAYER_OPEN_H

#include <dirent.h>
#include <stdbool.h>

/* Open a regular file for reading. Returns a descriptor to close, or -errno: -ELOOP a symbolic
 * link, -EISDIR a directory, -EINVAL another kind of file. */
int layer_open_file(int dir, const char *name);

/* Is the error one of the disk or of this process's limits, rather than of the file's content? The
 * next mount may then be able to read the file, so this one must not continue without it. */
bool layer_is_unread(int code);

/* Does a file of that name exist, of any type? Returns 1 or 0, or -errno: unknown. */
int layer_has_file(int dir, const char *name);

/* A sentence for an error of layer_open_file(). */
const char *layer_open_error(int rc);

/* Make a new file, open for reading and writing, and replace one that an interrupted mount left.
 * Returns a descriptor to close, or -errno. */
int layer_create_file(int dir, const char *name);

/* List the directory `name` of the layer whose directory is dir, -1 for none. NULL: it does not
 * exist, with *rc 0, or *rc is -errno. */
DIR *layer_list(int dir, const char *name, int *rc);

/* The next entry except "." and "..", borrowed. NULL: the end, or an error in *rc; the list, which
 * may be NULL, is then closed. */
const char *layer_list_next(DIR *entries, int *rc);

#endif
