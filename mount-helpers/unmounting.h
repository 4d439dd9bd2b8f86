/* SPDX-License-Identifier: MIT */
/* unmounting.h - umount.fuse.organfs, organfs-umount: take a mount away and wait until its daemon
 * has written down what was grafted. umount(8) runs it by the first name, which is the type of the
 * mount (fs/mount/utab.h); `umount -i` and `fusermount3 -u` do not, and return at once.
 *
 * The daemon's status is opened before the mount is taken away (asking.h), so that it is known whom
 * to wait for. The daemon holds a lock on it for as long as it lives, so the end of the daemon is
 * when that lock can be had.
 *
 * The daemon ends with the superblock, and the superblock with the last mount of it, of which there
 * may be more than the one that is taken away: copies that go with it, as a directory above it is
 * mounted twice and shared; bind mounts, which stay; mounts of other namespaces. So what was there
 * before decides nothing. The kernel tells when the superblock is gone, and from then on the daemon
 * is waited for, however long it takes to notice. Until then, where another mount is in sight, or
 * none is for 5 seconds and the daemon has not begun its end, nothing is waited for. */
#ifndef MOUNT_HELPERS_UNMOUNTING_H
#define MOUNT_HELPERS_UNMOUNTING_H

struct unmount_arguments;

/* Unmount all mount points, or all mounts of this user, one after another. name is this program's,
 * and begins each line on stderr. Returns the exit status, of several the bits of each. */
int unmounting_run(const char *name, const struct unmount_arguments *arguments);

#endif
