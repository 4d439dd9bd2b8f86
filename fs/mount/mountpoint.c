/* SPDX-License-Identifier: MIT */
/* mountpoint.c - see mountpoint.h. */
#include "fs/mount/mountpoint.h"
#include "fs/mount/utab.h"
#include "fs/util/mount_child.h"
#include "fs/util/mountinfo.h"
#include "fs/util/root_unmount.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PATIENCE_MS 1000 /* wait for a daemon that may be dead */

#ifndef AUTOFS_SUPER_MAGIC
#define AUTOFS_SUPER_MAGIC 0x0187
#endif

/* Find the mount of organfs at point, to release. It reads only mountinfo: a request to the mounted
 * filesystem could hang, if its daemon is gone or the automounter waits for this mount. */
static bool find_mount(const char *point, struct mountinfo *mount)
{
	struct mountinfo wanted = { .id = -1 };
	struct statx stat;

	*mount = wanted;
	if (statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stat) < 0 ||
	    !(stat.stx_mask & STATX_MNT_ID) || !(stat.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return false;
	wanted.id = (int)stat.stx_mnt_id;
	return mountinfo_find(mountinfo_has_id, &wanted, mount) && mount->is_organfs;
}

/* Read any extended attribute: the kernel caches none, so the daemon has to answer. */
static int ask(int socket, const void *context)
{
	(void)socket;
	(void)context;
	return getxattr(".", "user.organfs.daemon", NULL, 0) < 0 ? errno : 0;
}

bool mountpoint_remove_dead(const char *point)
{
	struct mountinfo mount;
	struct mount_child child;
	bool removed = false;

	if (find_mount(point, &mount) && mountinfo_is_of(&mount, geteuid())) {
		mount_child_begin(&child, &mount, PATIENCE_MS, ask, NULL);
		removed = mount_child_is_dead(mount_child_end(&child)) && mountpoint_detach(&mount);
	}
	mountinfo_release(&mount);
	if (removed && geteuid() == 0)
		utab_leave(point);
	return removed;
}

bool mountpoint_detach(const struct mountinfo *mount)
{
	const char *const argv[] = { "fusermount3", "-u", "-q", "-z", "--", mount->point, NULL };
	int status = -1;
	pid_t pid;

	if (geteuid() == 0)
		return root_unmount(mount, MNT_DETACH, false) == 0;
	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) != 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* An open with O_PATH and without O_DIRECTORY does not trigger an automount. */
static bool is_automount(const char *point)
{
	const int fd = open(point, O_PATH | O_CLOEXEC);
	struct statfs status;
	const bool is = fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type == AUTOFS_SUPER_MAGIC;

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
	struct mountinfo mount;
	const bool is_taken = find_mount(point, &mount);

	mountinfo_release(&mount);
	if (is_taken)
		return error_set(err, EBUSY, ERROR_NO_OFFSET,
				 "a model is mounted there already; unmount it first");
	if (!nonempty && !is_automount(point) && holds_something(point))
		return error_set(err, ENOTEMPTY, ERROR_NO_OFFSET,
				 "the directory is not empty, and the mount would hide its files; "
				 "-o nonempty mounts nevertheless");
	return 0;
}
