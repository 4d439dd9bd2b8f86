/* SPDX-License-Identifier: MIT */
/* file_use.h - announces to other daemons of this machine which files a daemon uses, by read locks
 * (fcntl(2), F_OFD_SETLK) on bytes far beyond the end of the file. The kernel releases such a lock
 * with the last descriptor of the open file. Files are announced only on local disks (disk.h: ext4,
 * XFS, btrfs, F2FS) and tmpfs: on other filesystems a lock might wait for a server. */
#ifndef FS_STORAGE_FILE_USE_H
#define FS_STORAGE_FILE_USE_H

enum file_use {
	FILE_USE_NONE,	    /* not announced */
	FILE_USE_BASE = 1,  /* mounted, or opened by a command of organfs */
	FILE_USE_DONOR = 2, /* referenced by a graft */
};

/* Announce a use. Errors are ignored: without locks other daemons do not learn of the use. */
void file_use_announce(int fd, enum file_use use);

/* Has another open file description announced one of these uses, a mask of enum file_use? Returns
 * 1, 0, or -errno if the filesystem has no locks. */
int file_use_is_announced(int fd, unsigned uses);

#endif
