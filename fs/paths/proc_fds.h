/* SPDX-License-Identifier: MIT */
/* proc_fds.h - files that a process has open, from /proc. No other filesystem is waited for: a
 * filesystem that hangs is not asked to look a name up. */
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
	uint64_t ino;	 /* 0: unknown to the kernel's fdinfo */
	bool is_organfs; /* in a mount of organfs */
	bool is_local;	 /* fstat() of its files does not wait */
	bool is_hidden;	 /* its mount cannot be seen from here: path may be another file */
	int fd;		 /* opened with O_PATH, the caller's to close; -1: file of the device own */
};

/* Find up to most files that the process has open for reading; of very many descriptors only the
 * first are examined. own is the device of our mount. Returns the number found, 0 also if /proc
 * cannot be read. */
unsigned proc_fds_find(struct mount_table *mounts, pid_t pid, dev_t own, struct proc_fd *openings,
		       unsigned most);

#endif
