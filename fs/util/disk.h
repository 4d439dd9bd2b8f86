/* SPDX-License-Identifier: MIT */
/* disk.h - the disk under an open file: its place, and the durability of directories. */
#ifndef FS_UTIL_DISK_H
#define FS_UTIL_DISK_H

/* Make all earlier changes of an open directory durable. Returns 0 or -errno; after an error they
 * may be durable all the same. */
int disk_sync_directory(int dir);

/* Place of the bytes of an open file's filesystem. */
enum disk_place {
	DISK_ELSEWHERE, /* or unknown */
	DISK_HERE,	/* a disk of this machine */
	DISK_IN_MEMORY,
};
enum disk_place disk_place(int fd);

#endif
