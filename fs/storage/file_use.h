/* SPDX-License-Identifier: MIT */
/* file_use.h - the files that daemons of this machine use, announced to one another by read locks
 * of open files (fcntl(2), F_OFD_SETLK) on bytes far beyond every end. A lock goes with the last
 * descriptor of its open file. Files are announced on disks of this machine (disk.h: ext4, XFS,
 * btrfs, F2FS) and tmpfs alone: elsewhere a lock could wait for a server. */
#ifndef FS_STORAGE_FILE_USE_H
#define FS_STORAGE_FILE_USE_H

enum file_use {
	FILE_USE_NONE,	    /* not announced */
	FILE_USE_BASE = 1,  /* it is mounted, or open in a command of organfs */
	FILE_USE_DONOR = 2, /* a graft refers to it */
};

/* Errors are ignored: where the filesystem has no locks, no other daemon learns of the use. */
void file_use_announce(int fd, enum file_use use);

/* Has another open file announced one of these uses, any of enum file_use? Returns 1, 0, or -errno
 * where the filesystem has no locks. */
int file_use_is_announced(int fd, unsigned uses);

#endif
