/* SPDX-License-Identifier: MIT */
/* root_unmount.h - unmounts, as root, a mount that may be another user's.
 *
 * That user may rename a directory above the mount point, and put a link in its place, while its
 * daemon is asked (mount_child.h); the path would then lead to another mount. Therefore the parent
 * directory is opened without following a link, and its entry has to be that mount. An entry that
 * is a mount point can be neither renamed nor removed (rename(2), EBUSY). */
#ifndef FS_UTIL_ROOT_UNMOUNT_H
#define FS_UTIL_ROOT_UNMOUNT_H

#include <stdbool.h>

struct mountinfo;

/* Unmount. flags: those of umount2(2). remounts: make a busy mount read-only (mount_setattr(2)) and
 * return 1. Returns 0 or -errno: -ESTALE if the path leads elsewhere by now, -ENOSYS if Linux is
 * older than 5.8. */
int root_unmount(const struct mountinfo *mount, int flags, bool remounts);

#endif
