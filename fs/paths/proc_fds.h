/* SPDX-License-Identifier: MIT */
/* proc_fds.h - which files a process has open, as /proc tells it. Nothing here waits for a
 * filesystem other than /proc: one that hangs is not asked for what it would have to look up. */
#ifndef FS_PATHS_PROC_FDS_H
#define FS_PATHS_PROC_FDS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_table;

struct proc_fd {
	char path[PATH_MAX]; /* absolute, as the daemon sees it */
	dev_t device;
	uint64_t ino;	 /* 0: the kernel does not tell */
	bool is_organfs; /* in a mount of organfs */
	bool is_local;	 /* in a filesystem that is asked about an open file without waiting */
	bool is_hidden;	 /* in a mount that cannot be seen from here: path may be another file */
	int fd;		 /* opened with O_PATH, the holder's to close; -1: of that own device */
};

/* Up to most of those that are open for reading. Of a process with very many descriptors only the
 * first are looked at. Returns how many, 0 also where /proc does not tell. */
unsigned proc_fds_find(struct mount_table *mounts, pid_t pid, dev_t own, struct proc_fd *openings,
		       unsigned most);

#endif
