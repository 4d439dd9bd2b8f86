/* SPDX-License-Identifier: MIT */
/* pidfile.c - see pidfile.h. */
#include "fs/mount/pidfile.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int pidfile_write(const char *path, struct error *err)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	const bool written = fd >= 0 && write(fd, text, (size_t)n) == n;
	const int reason = errno;

	if (fd >= 0)
		close(fd);
	return written ? 0
		       : error_set(err, reason, ERROR_NO_OFFSET,
				   "%.200s: the process number cannot be written: %s; nothing is "
				   "mounted",
				   path, strerror(reason));
}
