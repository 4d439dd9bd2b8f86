/* SPDX-License-Identifier: MIT */
/* unmounting.h - umount.fuse.organfs and organfs-umount: unmount, and wait until the daemon has
 * written the model. umount(8) runs the first name, which has the type of the mount
 * (fs/mount/utab.h); `umount -i` and `fusermount3 -u` do not, and return at once.
 *
 * The daemon's status is opened before the unmount (daemon_status.h). The daemon holds a lock on it
 * until it ends, so waiting for the daemon is waiting for that lock.
 *
 * The daemon ends with the superblock, and the superblock with its last mount. Besides the mount
 * that is removed there may be copies that go with it, if a directory above is mounted twice and
 * shared; bind mounts, which stay; and mounts in other namespaces. So the list of mounts before the
 * unmount decides nothing. Once the kernel reports that the superblock is gone, the helper waits
 * for the daemon without limit, but root without a terminal gives up a user's daemon that writes
 * nothing for an hour. Before that, it stops waiting if another mount is visible, or if none is
 * visible for 5 seconds and the daemon has not begun its end. */
#ifndef MOUNT_HELPERS_UNMOUNTING_H
#define MOUNT_HELPERS_UNMOUNTING_H

struct unmount_arguments;

/* Unmount all mount points, or all mounts of this user, one after another. name is this program's
 * and the prefix of each line on stderr. Returns the exit status, for several mounts their OR. */
int unmounting_run(const char *name, const struct unmount_arguments *arguments);

#endif
