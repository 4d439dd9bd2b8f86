/* SPDX-License-Identifier: MIT */
/* mountpoint.h - whether a directory can become the mount point. */
#ifndef FS_MOUNT_MOUNTPOINT_H
#define FS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>

struct error;

/* Is the directory, an absolute path without links, free? Returns 0, or -errno with err set: EBUSY
 * organfs is mounted there, ENOTEMPTY there is something in it that the mount would hide. That is
 * not looked at with nonempty, nor where the directory cannot be listed or is an automount point,
 * for it is the automounter that waits for this mount. */
int mountpoint_check(const char *point, bool nonempty, struct error *err);

#endif
