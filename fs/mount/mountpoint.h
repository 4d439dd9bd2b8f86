/* SPDX-License-Identifier: MIT */
/* mountpoint.h - checks a directory that shall become the mount point, and frees a used one. */
#ifndef FS_MOUNT_MOUNTPOINT_H
#define FS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>

struct error;
struct mountinfo;

/* Is the directory, an absolute path without links, free? Returns 0, or -errno with err set: EBUSY
 * if organfs is mounted there, ENOTEMPTY if the mount would hide files in the directory. The latter
 * is not checked with nonempty, if the directory cannot be listed, or if it is an automount point,
 * since the automounter waits for this mount. */
int mountpoint_check(const char *point, bool nonempty, struct error *err);

/* Detach a mount of this user whose daemon has died. A daemon that does not answer within a second
 * counts as alive. Returns whether a mount was detached. */
bool mountpoint_remove_dead(const char *point);

/* Detach that mount: as root by root_unmount(), else by fusermount3, which detaches a mount of this
 * user that is uppermost at its path by now. Returns whether that succeeded. */
bool mountpoint_detach(const struct mountinfo *mount);

#endif
