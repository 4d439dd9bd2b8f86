/* SPDX-License-Identifier: MIT */
/* utab.h - the entry of a mount in /run/mount/utab, where mount(8) and umount(8) keep data that the
 * kernel does not have.
 *
 * umount(8) runs /sbin/umount.fuse.organfs, which waits for the assembly, if it knows the type of
 * the mount. If root gives an absolute path, umount(8) asks statfs(2), which calls every FUSE
 * filesystem "fuse". If utab has an entry of that directory, it reads mountinfo instead, which has
 * the whole type. So organfs enters root's own mounts. Other users cannot write to utab, and need
 * not: their umount(8) always reads mountinfo, and so does root's for a mount that is closed to
 * root. */
#ifndef FS_MOUNT_UTAB_H
#define FS_MOUNT_UTAB_H

#include <stdbool.h>

/* Enter the mount at point, which need not answer yet. Returns whether there may be an entry: only
 * root makes one. Other failures are no error; umount(8) then does not wait for the assembly. */
bool utab_enter(const char *point);

/* Remove the entry of a mount that is gone, unless something is mounted at point again. May wait
 * about ten seconds for another organfs that makes or removes an entry. */
void utab_leave(const char *point);

#endif
