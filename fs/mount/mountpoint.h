/* SPDX-License-Identifier: MIT */
/* mountpoint.h - whether a directory can become the mount point, and how one is freed. */
#ifndef FS_MOUNT_MOUNTPOINT_H
#define FS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>

struct error;
struct mountinfo;

/* Is the directory, an absolute path without links, free? Returns 0, or -errno with err set: EBUSY
 * organfs is mounted there, ENOTEMPTY there is something in it that the mount would hide. That is
 * not looked at with nonempty, nor where the directory cannot be listed or is an automount point,
 * for it is the automounter that waits for this mount. */
int mountpoint_check(const char *point, bool nonempty, struct error *err);

/* If a mount of this user's is there whose daemon has died, detach it. A daemon that does not
 * answer within a second counts as alive. Returns whether the mount is gone. */
bool mountpoint_remove_dead(const char *point);

/* Detach that mount: as root by taking_away(), else by fusermount3, which detaches a mount of this
 * user that is uppermost at its path by now. Returns whether that succeeded. */
bool mountpoint_detach(const struct mountinfo *mount);

#endif
