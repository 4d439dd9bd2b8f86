/* SPDX-License-Identifier: MIT */
/* utab.h - the entry of a mount in /run/mount/utab, where mount(8) and umount(8) keep what they
 * know beyond the kernel.
 *
 * umount(8) runs /sbin/umount.fuse.organfs, which waits for the assembly, if it knows the type of
 * the mount. Where root gives an absolute path it asks statfs(2), which calls every FUSE filesystem
 * "fuse", unless utab has an entry of that directory: then it reads mountinfo, which has the whole
 * type. So root's own mounts are entered. Other users cannot write to utab, and need not: their
 * umount(8) always reads mountinfo, and so does root's for a mount that is closed to root. */
#ifndef FS_MOUNT_UTAB_H
#define FS_MOUNT_UTAB_H

#include <stdbool.h>

/* Enter the mount at point. It is there on return; the mount need not answer yet. Returns whether
 * there may be an entry: only root makes one. What else goes wrong is no error: umount(8) does not
 * wait then. */
bool utab_enter(const char *point);

/* The mount at point is gone: remove its entry, unless something is mounted there again. May wait
 * for another organfs that makes or removes an entry, up to ten seconds or so. */
void utab_leave(const char *point);

#endif
