/* SPDX-License-Identifier: MIT */
/* pidfile.h - the file of -o pidfile=, by which a supervisor knows the daemon. */
#ifndef FS_MOUNT_PIDFILE_H
#define FS_MOUNT_PIDFILE_H

struct error;

/* Write the number of this process and a newline to path, replacing the file of a daemon that was
 * killed. Returns 0, or -errno with err set: EEXIST the path is not a regular file, or has more
 * than a number in it, and is unchanged. */
int pidfile_write(const char *path, struct error *err);

#endif
