/* SPDX-License-Identifier: MIT */
/* background.c - see background.h. fuse_daemonize() lets the command return at once, before the
 * process has given its rights away. */
#include "fs/util/background.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

__attribute__((noreturn)) static void wait_for_child(int child)
{
	char ready;
	ssize_t n;

	do
		n = read(child, &ready, sizeof(ready));
	while (n < 0 && errno == EINTR);
	_exit(n == sizeof(ready) ? 0 : 1);
}

int background_begin(void)
{
	int ends[2], rc;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	rc = child < 0 ? -errno : ends[1];
	if (child > 0) {
		close(ends[1]);
		wait_for_child(ends[0]);
	}
	close(ends[0]);
	if (child < 0)
		close(ends[1]);
	else if (setsid() < 0 || chdir("/") < 0)
		rc = -errno;
	return rc;
}

void background_ready(int waiting)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	/* The process that waits may have been killed: SIGPIPE is ignored only later. */
	if (write(waiting, "", 1) < 0)
		errno = 0;
	close(waiting);
}
