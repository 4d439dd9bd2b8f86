/* SPDX-License-Identifier: MIT */
/* disk.c - see disk.h. */
#include "fs/util/disk.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* After a shutdown of XFS (its log cannot be written, say), fsync() of a directory still succeeds,
 * because XFS has discarded the changes and nothing is left to write. fstat() then fails with EIO.
 *
 * The order fsync(), fstat() is sufficient: XFS marks the filesystem as shut down before it
 * discards a change, and keeps the mark until it is unmounted. If the shutdown happens between the
 * two calls, an error is returned for changes that are durable; the caller is never told the
 * opposite.
 *
 * No other call is as reliable: fsync() of the renamed file checks the mark before the log is
 * written, not after, and syncfs() waits for the writes of all processes on that filesystem. ext4,
 * btrfs and f2fs need only fsync(), which fails there. */
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
