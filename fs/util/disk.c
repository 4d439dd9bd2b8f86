/* SPDX-License-Identifier: MIT */
/* disk.c - see disk.h. */
#include "fs/util/disk.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* XFS that has shut down, as where its log cannot be written, lets fsync() of a directory succeed:
 * the changes were given up, so that nothing is left to be written. fstat() says EIO there.
 *
 * Asked after fsync() that is a proof. XFS marks itself as shut down before it gives up a change,
 * and keeps the mark until it is unmounted. So where fsync() had nothing to write for that reason,
 * fstat() finds the mark. A shutdown between the two calls makes an error of changes that are on
 * the disk: the caller then knows too little, and not something wrong.
 *
 * No other call proves as much. fsync() of the file that was renamed looks for the mark before the
 * log is written, not after, and syncfs() waits for what all processes have written to that
 * filesystem. ext4, btrfs and f2fs need none of it: their fsync() of a directory fails. */
int disk_sync_directory(int dir)
{
	struct stat stat;

	return fsync(dir) < 0 || fstat(dir, &stat) < 0 ? -errno : 0;
}

enum disk_place disk_place(int fd)
{
	static const long disks[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      F2FS_SUPER_MAGIC };
	struct statfs stat;

	if (fstatfs(fd, &stat) < 0)
		return DISK_ELSEWHERE;
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++)
		if ((long)stat.f_type == disks[i])
			return DISK_HERE;
	return (long)stat.f_type == TMPFS_MAGIC ? DISK_IN_MEMORY : DISK_ELSEWHERE;
}
