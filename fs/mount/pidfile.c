/* SPDX-License-Identifier: MIT */
/* pidfile.c - see pidfile.h. */
#include "fs/mount/pidfile.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Open a new file, or one that has nothing but a number, so that a wrong path overwrites no model,
 * and no device for root. Returns -1 with errno set. */
static int open_pidfile(const char *path)
{
	const int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	struct stat stat;
	char text[16] = "";

	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
	    pread(fd, text, sizeof(text) - 1, 0) == stat.st_size &&
	    strspn(text, "0123456789\n") == (size_t)stat.st_size && ftruncate(fd, 0) == 0)
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

int pidfile_write(const char *path, struct error *err)
{
	const int fd = open_pidfile(path);
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	const bool written = fd >= 0 && write(fd, text, (size_t)n) == n;
	const int reason = errno;

	if (fd >= 0)
		close(fd);
	if (written)
		return 0;
	if (reason == EEXIST)
		return error_set(err, reason, ERROR_NO_OFFSET,
				 "%.200s: not a file with only a process number; nothing is "
				 "mounted: name another pidfile=",
				 path);
	return error_set(err, reason, ERROR_NO_OFFSET,
			 "%.200s: the process number cannot be written: %s; nothing is mounted",
			 path, strerror(reason));
}
