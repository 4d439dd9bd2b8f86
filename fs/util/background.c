/* SPDX-License-Identifier: MIT */
/* background.c - see background.h. fuse_daemonize() would let the command return at once, before
 * the process has given up its rights. */
#include "fs/util/background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptor from which SIGINT and SIGTERM are read, or -1. The caller has blocked both, so that a
 * signal cannot end this process and leave a mount without a daemon. Ignored signals are left
 * out. */
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

/* Add SIGCHLD to the signals of fd. The kernel sends none while SIGCHLD is ignored. */
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

/* Pass the signal that arrived, and all later ones, to the child, which may have mounted already.
 * Exit with the status of the first signal when the child has ended. */
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
	/* The waiting parent may have been killed. */
	signal(SIGPIPE, SIG_IGN);
	if (write(waiting, "", 1) < 0)
		errno = 0;
	close(waiting);
}
