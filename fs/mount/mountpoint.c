/* SPDX-License-Identifier: MIT */
/* mountpoint.c - see mountpoint.h. */
#include "fs/mount/mountpoint.h"
#include "fs/util/mountinfo.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef AUTOFS_SUPER_MAGIC
#define AUTOFS_SUPER_MAGIC 0x0187
#endif

/* Is the mount with that number one of organfs? */
static bool is_organfs(uint64_t number)
{
	const struct mountinfo wanted = { .id = (int)number };
	struct mountinfo mount;
	bool is;

	if (!mountinfo_find(mountinfo_has_id, &wanted, &mount))
		return false;
	is = mount.is_organfs;
	mountinfo_release(&mount);
	return is;
}

/* The filesystem that is mounted there is asked nothing: its daemon may be gone, or the automounter
 * may wait for this mount. */
static bool is_taken(const char *point)
{
	struct statx stat;

	return statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stat) ==
		       0 &&
	       (stat.stx_mask & STATX_MNT_ID) && (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT) &&
	       is_organfs(stat.stx_mnt_id);
}

/* A descriptor with O_PATH and without O_DIRECTORY does not set off an automount. */
static bool is_automount(const char *point)
{
	const int fd = open(point, O_PATH | O_CLOEXEC);
	struct statfs status;
	const bool is = fd >= 0 && fstatfs(fd, &status) == 0 &&
			status.f_type == AUTOFS_SUPER_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

static bool holds_something(const char *point)
{
	DIR *entries = opendir(point);
	const struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries)))
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (entries)
		closedir(entries);
	return found;
}

int mountpoint_check(const char *point, bool nonempty, struct error *err)
{
	if (is_taken(point))
		return error_set(err, EBUSY, ERROR_NO_OFFSET,
				 "a model is mounted there already; unmount it first");
	if (!nonempty && !is_automount(point) && holds_something(point))
		return error_set(err, ENOTEMPTY, ERROR_NO_OFFSET,
				 "the directory is not empty, and what is in it would be hidden; "
				 "-o nonempty mounts nevertheless");
	return 0;
}
