/* SPDX-License-Identifier: MIT */
/* proc_fds.c - see proc_fds.h. The formats are those of proc(5). */
#include "fs/paths/proc_fds.h"
#include "fs/paths/mount_table.h"
#include "fs/util/mountinfo.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Limit of descriptors examined. A process that copies has few. */
#define DESCRIPTORS_MAX 256

/* Find the filesystem of a file whose mount id cannot be seen from here: its mount is in another
 * namespace or, in a chroot, holds the root. The filesystem may also be mounted where it can be
 * seen. */
static void find_hidden(struct proc_fd *opening)
{
	struct mountinfo wanted = { .device = 0 }, mount;
	struct statx stat;

	/* statx() with DONT_SYNC sends the filesystem no request. */
	if (statx(opening->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stat) == 0) {
		wanted.device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
		mountinfo_find(mountinfo_has_device, &wanted, &mount);
		opening->is_organfs = mount.is_organfs;
		mountinfo_release(&mount);
	}
	opening->device = wanted.device;
}

/* Read the open flags, mount and inode of a descriptor from fdinfo. */
static bool read_info(pid_t pid, unsigned fd, unsigned *flags, int *mount, uint64_t *ino)
{
	char path[64], text[512], *rest = text, *line;
	unsigned found = 0;
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", (int)pid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? 0 : read(info, text, sizeof(text) - 1);
	if (info >= 0)
		close(info);
	text[n < 0 ? 0 : n] = '\0';
	*ino = 0;
	/* Further lines depend on the kind of file. */
	for (unsigned i = 0; i < 4 && (line = strsep(&rest, "\n")); i++) {
		unsigned long long value;

		found += sscanf(line, "flags: %o", flags) == 1;
		found += sscanf(line, "mnt_id: %d", mount) == 1;
		if (sscanf(line, "ino: %llu", &value) == 1)
			*ino = value;
	}
	return found == 2;
}

/* Whether the path is neither a pipe, a device nor a file that the kernel makes up. */
static bool is_candidate(const char *path)
{
	static const char *const others[] = { "/dev/", "/proc/", "/sys/", "/memfd:" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(path, others[i], strlen(others[i])) == 0)
			return false;
	return path[0] == '/';
}

/* Find the mount of an open file, by its link in /proc and the mount's id. */
static bool find_place(struct mount_table *mounts, const char *link, int id, dev_t own,
		       struct proc_fd *opening)
{
	struct mount_entry mount;

	/* O_PATH sends the filesystem no request either. */
	opening->fd = open(link, O_PATH | O_CLOEXEC);
	if (opening->fd < 0)
		return false;
	opening->is_hidden = !mount_table_find(mounts, id, &mount);
	opening->device = mount.device;
	opening->is_organfs = mount.is_organfs;
	opening->is_local = mount.is_local;
	if (opening->is_hidden)
		find_hidden(opening);
	if (opening->device == own) {
		close(opening->fd);
		opening->fd = -1;
	}
	return true;
}

static bool read_proc_fd(struct mount_table *mounts, pid_t pid, unsigned fd, dev_t own,
			 struct proc_fd *opening)
{
	struct stat link;
	unsigned flags;
	char path[64];
	ssize_t n;
	int id;

	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
	/* The link's own mode has S_IRUSR if the descriptor is open for reading. */
	if (lstat(path, &link) < 0 || !(link.st_mode & S_IRUSR))
		return false;
	n = readlink(path, opening->path, sizeof(opening->path) - 1);
	if (n <= 0)
		return false;
	opening->path[n] = '\0';
	return is_candidate(opening->path) && read_info(pid, fd, &flags, &id, &opening->ino) &&
	       (flags & O_ACCMODE) != O_WRONLY && !(flags & (O_PATH | O_DIRECTORY)) &&
	       find_place(mounts, path, id, own, opening);
}

/* Parse the name of an entry of /proc/N/fd. */
static bool is_number(const char *name, unsigned *fd)
{
	char *end;
	const unsigned long number = strtoul(name, &end, 10);

	*fd = (unsigned)number;
	return name[0] != '.' && !*end && number <= INT_MAX;
}

unsigned proc_fds_find(struct mount_table *mounts, pid_t pid, dev_t own, struct proc_fd *openings,
		       unsigned most)
{
	char path[64];
	DIR *directory;
	struct dirent *entry;
	unsigned n = 0, seen = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = pid > 0 ? opendir(path) : NULL;
	while (directory && n < most && seen < DESCRIPTORS_MAX && (entry = readdir(directory))) {
		unsigned fd;

		if (!is_number(entry->d_name, &fd))
			continue;
		seen++;
		n += read_proc_fd(mounts, pid, fd, own, &openings[n]);
	}
	if (directory)
		closedir(directory);
	return n;
}
