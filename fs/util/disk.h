/* SPDX-License-Identifier: MIT */
/* disk.h - the disk under an open file: where it is, and what of a directory it has. */
#ifndef FS_UTIL_DISK_H
#define FS_UTIL_DISK_H

/* What was changed in an open directory before the call is on the disk: 0, or -errno. It may be
 * there also after -errno. */
int disk_sync_directory(int dir);

/* Where the filesystem of an open file has its bytes. */
enum disk_place {
	DISK_ELSEWHERE, /* also where that is not known */
	DISK_HERE,	/* a disk of this machine */
	DISK_IN_MEMORY,
};
enum disk_place disk_place(int fd);

#endif
