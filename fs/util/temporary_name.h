/* SPDX-License-Identifier: MIT */
/* temporary_name.h - the names that programs give to files on the way to a rename, and to backups
 * and locks beside a file: editors, sed -i, rsync, patch, file managers. */
#ifndef FS_UTIL_TEMPORARY_NAME_H
#define FS_UTIL_TEMPORARY_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Is it such a name: with a leading dot, with '~' or '#', all of digits, "sedXXXXXX", or ending in
 * .bak, .new, .old, .orig, .part, .partial, .rej, .swp, .swx or .tmp? */
bool temporary_name(const char *name);

/* The length of NAME if name is ".NAME.XXXXXX", the file that rsync renames to NAME; else 0. */
size_t temporary_name_of_rsync(const char *name);

/* Is it "CuXXXXXX", the symbolic link that `ln -sf` renames over the one that is there? */
bool temporary_name_of_ln(const char *name);

#endif
