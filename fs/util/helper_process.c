/* SPDX-License-Identifier: MIT */
/* helper_process.c - see helper_process.h. The parent sends the number of a job, a byte, and the
 * helper sends it back when the job is done. A parent that ends as it should says so before it
 * closes the socket: a socket that is closed without that is a parent that was killed. */
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

/* What it sends when it begins, and what it gets in the end; no job has these numbers. */
#define READY 255
#define END   254

struct helper_process {
	int socket;
	pid_t pid;
};

/* The bytes of the command line, which begin with argv[0]: 0 where that cannot be told. */
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

/* Who looks for the parent by its command line is not to find this one. */
static void set_title(const char *title)
{
	const size_t room = room_for_title(), n = strlen(title);

	prctl(PR_SET_NAME, title, 0, 0, 0);
	if (room == 0)
		return;
	memset(program_invocation_name, 0, room);
	memcpy(program_invocation_name, title, n < room ? n : room - 1);
}

/* All but that one, which keeps its number: a job may close those of others, which it knows. The
 * standard ones lead nowhere: a shell may wait for the last process that can print. Returns 0, or
 * -1: the kernel or a container does not allow that. With the parent's end of the socket open this
 * process would not see the parent's end. */
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

/* Do what the parent asks for. Returns whether the parent has gone without a word; a number that is
 * not a job's ends it too. */
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
	/* It keeps no directory in use. */
	if (chdir("/") < 0 || send(socket, &ready, sizeof(ready), MSG_NOSIGNAL) < 0)
		_exit(1);
	if (do_jobs(socket, jobs, context) && jobs->orphaned)
		jobs->orphaned(context);
	_exit(0);
}

/* The byte that it sends, or -1: it is gone. */
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
	/* From here on it has a name of its own, and holds nothing. */
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
