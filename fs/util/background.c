/* SPDX-License-Identifier: MIT */
/* background.c - see background.h. fuse_daemonize() lets the command return at once, before the
 * process has given its rights away. */
#include "fs/util/background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What would end this process, but that it is blocked, so that no mount is left without a daemon. A
 * descriptor that is readable when one comes, or -1. */
static int catch_signals(sigset_t *signals)
{
	static const int ends[] = { SIGINT, SIGTERM };
	struct sigaction action;

	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(signals, ends[i]);
	return signalfd(-1, signals, SFD_CLOEXEC);
}

/* From now on the end of the child is one of them. Where SIGCHLD is ignored, none is sent. */
static void catch_end(int fd, sigset_t *signals)
{
	sigset_t end;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&end);
	sigaddset(&end, SIGCHLD);
	sigprocmask(SIG_BLOCK, &end, NULL);
	sigaddset(signals, SIGCHLD);
	signalfd(fd, signals, 0);
}

/* The command was told to end: so is the child, which has the mount by then. What more comes goes
 * to it too. The command ends as it would have, when the child has ended. */
__attribute__((noreturn)) static void end_child(pid_t child, int fd, sigset_t *signals)
{
	struct signalfd_siginfo told;
	const ssize_t n = read(fd, &told, sizeof(told));
	const int first = n == sizeof(told) ? (int)told.ssi_signo : SIGTERM;

	kill(child, first);
	catch_end(fd, signals);
	while (waitpid(child, NULL, WNOHANG) == 0)
		if (read(fd, &told, sizeof(told)) == sizeof(told) && told.ssi_signo != SIGCHLD)
			kill(child, (int)told.ssi_signo);
	_exit(128 + first);
}

__attribute__((noreturn)) static void wait_for_child(pid_t child, int waiting)
{
	sigset_t signals;
	struct pollfd from[] = { { .fd = catch_signals(&signals), .events = POLLIN },
				 { .fd = waiting, .events = POLLIN } };
	char ready;
	ssize_t n;

	while (poll(from, 2, -1) < 0 && errno == EINTR)
		;
	if (from[0].revents & POLLIN)
		end_child(child, from[0].fd, &signals);
	do
		n = read(waiting, &ready, sizeof(ready));
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
		wait_for_child(child, ends[0]);
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
