/* SPDX-License-Identifier: MIT */
/* helper_process.c - see helper_process.h. The parent sends one byte, the number of a job; the
 * helper sends the byte back when the job is done. helper_process_free() sends END before it closes
 * the socket: a socket that is closed without END tells that the parent was killed. */
#include "fs/util/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sent by the helper when it is ready, and by the parent at the end. No job has these numbers. */
#define READY 255
#define END   254

struct helper_process {
	int socket;
	pid_t pid;
};

/* Length of the command line, which begins at argv[0], in bytes; 0: unknown. */
static size_t room_for_title(void)
{
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char some[4096];
	size_t room = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while ((n = read(fd, some, sizeof(some))) > 0)
		room += (size_t)n;
	close(fd);
	return n < 0 ? 0 : room;
}

/* Rename the process, so that a search for the parent's command line does not find the helper. */
static void set_title(const char *title)
{
	const size_t room = room_for_title(), n = strlen(title);

	prctl(PR_SET_NAME, title, 0, 0, 0);
	if (room == 0)
		return;
	memset(program_invocation_name, 0, room);
	memcpy(program_invocation_name, title, n < room ? n : room - 1);
}

/* Close all descriptors but the socket, which keeps its number, because a job may close descriptors
 * by the numbers that the parent had. The standard ones become /dev/null: a shell may wait until
 * its last writer is gone. Returns 0, or -1 if the kernel or a container denies it. The copy of the
 * parent's end of the socket has to be closed, else recv() would never report the parent's end. */
static int close_descriptors(int socket)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (socket > STDERR_FILENO + 1 &&
	    close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0) < 0)
		return -1;
	return close_range((unsigned)socket + 1, UINT_MAX, 0);
}

/* Do jobs until the parent ends. Returns true if the parent ended without sending END. A number
 * that is no job ends the helper too. */
static bool do_jobs(int socket, const struct helper_jobs *jobs, void *context)
{
	uint8_t job;

	do {
		if (recv(socket, &job, sizeof(job), 0) != sizeof(job))
			return true;
		if (job >= jobs->n)
			return false;
		jobs->jobs[job](context);
	} while (send(socket, &job, sizeof(job), MSG_NOSIGNAL) == sizeof(job));
	return true;
}

__attribute__((noreturn)) static void serve(int socket, const struct helper_jobs *jobs,
					    void *context, const char *title)
{
	const uint8_t ready = READY;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (close_descriptors(socket) < 0)
		_exit(1);
	set_title(title);
	/* A working directory elsewhere would keep a filesystem busy. */
	if (chdir("/") < 0 || send(socket, &ready, sizeof(ready), MSG_NOSIGNAL) < 0)
		_exit(1);
	if (do_jobs(socket, jobs, context) && jobs->orphaned)
		jobs->orphaned(context);
	_exit(0);
}

/* The next byte from the helper, or -1 if the helper is gone. */
static int receive(const struct helper_process *helper)
{
	uint8_t answer;
	ssize_t n;

	do
		n = recv(helper->socket, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(answer) ? answer : -1;
}

struct helper_process *helper_process_new(const struct helper_jobs *jobs, void *context,
					  const char *title)
{
	struct helper_process *helper = malloc(sizeof(*helper));
	int ends[2];

	if (!helper)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		free(helper);
		return NULL;
	}
	helper->socket = ends[0];
	helper->pid = fork();
	if (helper->pid == 0)
		serve(ends[1], jobs, context, title);
	close(ends[1]);
	/* READY tells that the helper has closed its descriptors and set its title. */
	if (helper->pid > 0 && receive(helper) == READY)
		return helper;
	close(helper->socket);
	if (helper->pid > 0) {
		waitpid(helper->pid, NULL, 0);
		errno = EIO;
	}
	free(helper);
	return NULL;
}

int helper_process_run(struct helper_process *helper, size_t i)
{
	const uint8_t job = (uint8_t)i;

	return send(helper->socket, &job, sizeof(job), MSG_NOSIGNAL) == sizeof(job) &&
			       receive(helper) == job
		       ? 0
		       : -EIO;
}

void helper_process_free(struct helper_process *helper)
{
	const uint8_t end = END;

	if (!helper)
		return;
	send(helper->socket, &end, sizeof(end), MSG_NOSIGNAL);
	close(helper->socket);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(helper);
}
