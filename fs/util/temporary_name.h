/* SPDX-License-Identifier: MIT */
/* temporary_name.h - names of temporary files, backups and locks that editors, sed -i, rsync, patch
 * and file managers make beside a file. */
#ifndef FS_UTIL_TEMPORARY_NAME_H
#define FS_UTIL_TEMPORARY_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Does the name begin with '.', contain '~' or '#', consist of digits, match "sedXXXXXX", or end in
 * .bak, .new, .old, .orig, .part, .partial, .rej, .swp, .swx or .tmp? */
bool temporary_name(const char *name);

/* Length of NAME if name is ".NAME.XXXXXX", a file that rsync renames to NAME; otherwise 0. */
size_t temporary_name_of_rsync(const char *name);

/* Is it "CuXXXXXX", a symbolic link that `ln -sf` renames over the existing one? */
bool temporary_name_of_ln(const char *name);

#endif
