/* SPDX-License-Identifier: MIT */
/* root_unmount.c - see root_unmount.h. */
#include "fs/util/root_unmount.h"
#include "fs/util/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Open the directory above the mount point, and find the last name. Returns a descriptor, or
 * -errno. */
static int open_above(const char *point, const char **name)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS };
	const char *slash = strrchr(point, '/');
	char above[PATH_MAX];
	long fd;

	if (!slash || !slash[1] || (size_t)(slash - point) >= sizeof(above))
		return -EINVAL;
	snprintf(above, sizeof(above), "%.*s/", (int)(slash - point), point);
	*name = slash + 1;
	fd = syscall(SYS_openat2, AT_FDCWD, above, &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	return errno == ELOOP || errno == ENOENT || errno == ENOTDIR ? -ESTALE : -errno;
}

/* Check that the name is that mount. statx(2) returns the mount's number without a request to its
 * filesystem. Returns 0 or -errno. */
static int check(const struct mountinfo *mount, int above, const char *name)
{
	struct statx stat;

	if (statx(above, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0,
		  &stat) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (!(stat.stx_mask & STATX_MNT_ID))
		return -ENOSYS;
	return stat.stx_mnt_id == (unsigned)mount->id ? 0 : -ESTALE;
}

/* Unmount, or make read-only by mount_setattr(2). A remount would clear nosuid and nodev, which
 * keep a user's daemon from providing set-uid programs and devices. */
static int unmount_at(const char *path, int flags, bool remounts)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

	if (umount2(path, flags | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EBUSY || !remounts)
		return -errno;
	if (mount_setattr(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &read_only, sizeof(read_only)) == 0)
		return 1;
	/* EBUSY: a process writes. ENOSYS: Linux is older than 5.12. */
	return errno == ENOSYS ? -EBUSY : -errno;
}

int root_unmount(const struct mountinfo *mount, int flags, bool remounts)
{
	const char *name;
	const int above = open_above(mount->point, &name);
	char path[NAME_MAX + 64];
	int rc;

	if (above < 0)
		return above;
	rc = check(mount, above, name);
	if (rc == 0 &&
	    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", above, name) >= (int)sizeof(path))
		rc = -ENAMETOOLONG;
	if (rc == 0)
		rc = unmount_at(path, flags, remounts);
	close(above);
	return rc;
}
