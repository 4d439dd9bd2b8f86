/* SPDX-License-Identifier: MIT */
/* home.h - the user's directory. */
#ifndef FS_UTIL_HOME_H
#define FS_UTIL_HOME_H

/* The path below that directory, which is $HOME, or without an absolute one that of the user
 * database, to free. NULL: out of memory. */
char *home_path(const char *below);

#endif
