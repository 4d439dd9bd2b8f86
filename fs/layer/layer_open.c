/* SPDX-License-Identifier: MIT */
/* layer_open.c - see layer_open.h. */
#include "fs/layer/layer_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refusal(const struct stat *stat)
{
	if (S_ISREG(stat->st_mode))
		return 0;
	return S_ISLNK(stat->st_mode) ? -ELOOP : S_ISDIR(stat->st_mode) ? -EISDIR : -EINVAL;
}

int layer_open_file(int dir, const char *name)
{
	struct stat stat;
	int fd, rc = fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : refusal(&stat);

	if (rc < 0)
		return rc;
	/* O_NOFOLLOW and O_NONBLOCK: another process may have replaced the file since fstatat(). */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &stat) < 0 ? -errno : refusal(&stat);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

bool layer_is_unread(int code)
{
	static const int codes[] = { EIO,	ENOMEM,	   EMFILE,	 ENFILE,
				     ESTALE,	EUCLEAN,   EREMOTEIO,	 ENOTCONN,
				     ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ECONNABORTED };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (code == codes[i])
			return true;
	return false;
}

int layer_has_file(int dir, const char *name)
{
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT || errno == ENAMETOOLONG ? 0 : -errno;
}

const char *layer_open_error(int rc)
{
	return rc == -EINVAL ? "not a regular file" : strerror(-rc);
}

int layer_create_file(int dir, const char *name)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir, name, flags, 0600);

	/* An error of unlinkat() shows in openat(). */
	if (fd < 0 && errno == EEXIST) {
		unlinkat(dir, name, 0);
		fd = openat(dir, name, flags, 0600);
	}
	return fd < 0 ? -errno : fd;
}

static int open_directory(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

DIR *layer_list(int dir, const char *name, int *rc)
{
	const int fd = dir < 0 ? -ENOENT : open_directory(dir, name);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	*rc = fd == -ENOENT ? 0 : fd < 0 ? fd : entries ? 0 : -errno;
	if (fd >= 0 && !entries)
		close(fd);
	return entries;
}

const char *layer_list_next(DIR *entries, int *rc)
{
	const struct dirent *entry;

	if (!entries)
		return NULL;
	while ((errno = 0, entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	if (errno)
		*rc = -errno;
	closedir(entries);
	return NULL;
}
