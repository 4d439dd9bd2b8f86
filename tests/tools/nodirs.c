/* SPDX-License-Identifier: MIT */
/* nodirs.c - preloaded into stress-ng, which makes a directory for each stressor to work in:
 * mkdir() makes a link to the directory $NODIRS instead, because a class directory of a mount has
 * no subdirectories. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_first(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "tmp-stress-ng", 13) == 0;
}

int mkdir(const char *path, mode_t mode)
{
	const char *target = getenv("NODIRS");

	return target && is_first(path) ? symlink(target, path)
					: (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int rmdir(const char *path)
{
	return is_first(path) ? unlink(path)
			      : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
