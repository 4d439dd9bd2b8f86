/* SPDX-License-Identifier: MIT */
/* disk.h - the disk under an open file: where it is, and what of a directory it has. */
#ifndef FS_UTIL_DISK_H
#define FS_UTIL_DISK_H

/* What was changed in an open directory before the call is on the disk: 0, or -errno. It may be
 * there also after -errno. */
int disk_sync_directory(int dir);

#endif
