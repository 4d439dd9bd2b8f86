/* SPDX-License-Identifier: MIT */
/* layer_open.c - see layer_open.h. */
#include "fs/layer_open.h"

#include <errno.h>
#include <fcntl.h>
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
	/* Another process may have put something else there since. */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &stat) < 0 ? -errno : refusal(&stat);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

const char *layer_open_error(int rc)
{
	return rc == -EINVAL ? "this is not a regular file" : strerror(-rc);
}

int layer_create_file(int dir, const char *name)
{
	int fd;

	/* What cannot be removed shows in openat(). */
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}
