/* SPDX-License-Identifier: MIT */
/* paths.h - directories: made with their parents, made durable, emptied. */
#ifndef FS_PATHS_H
#define FS_PATHS_H

/* Make a directory, private to the user, and the parents it lacks. Returns 0 or -errno. */
int paths_make(const char *path);

/* Make the entries of a directory durable. Returns 0 or -errno. */
int paths_sync(const char *path);

/* Remove the directory name in the directory dir, with the files in it; what cannot be removed
 * stays. */
void paths_empty(int dir, const char *name);

#endif
