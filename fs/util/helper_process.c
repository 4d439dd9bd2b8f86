/* SPDX-License-Identifier: MIT */
/* helper_process.c - see helper_process.h. The parent sends the number of a job, a byte, and the
 * helper sends it back when the job is done. */
#include "fs/util/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* All but the standard ones and that one, which becomes the first after them. */
static int close_descriptors(int socket)
{
	const int kept = STDERR_FILENO + 1;

	if (socket != kept && dup3(socket, kept, O_CLOEXEC) < 0)
		return -1;
	close_range(kept + 1, UINT_MAX, 0);
	return kept;
}

__attribute__((noreturn)) static void serve(int socket, void (*const *jobs)(void *context),
					    size_t n, void *context, const char *title)
{
	uint8_t job;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	socket = close_descriptors(socket);
	set_title(title);
	/* It keeps no directory in use. */
	if (socket < 0 || chdir("/") < 0)
		_exit(1);
	while (recv(socket, &job, sizeof(job), 0) == sizeof(job) && job < n) {
		jobs[job](context);
		if (send(socket, &job, sizeof(job), MSG_NOSIGNAL) != sizeof(job))
			break;
	}
	_exit(0);
}

struct helper_process *helper_process_new(void (*const *jobs)(void *context), size_t n,
					  void *context, const char *title)
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
		serve(ends[1], jobs, n, context, title);
	close(ends[1]);
	if (helper->pid > 0)
		return helper;
	close(helper->socket);
	free(helper);
	return NULL;
}

int helper_process_run(struct helper_process *helper, size_t i)
{
	const uint8_t job = (uint8_t)i;
	uint8_t answer;
	ssize_t n;

	if (send(helper->socket, &job, sizeof(job), MSG_NOSIGNAL) != sizeof(job))
		return -EIO;
	do
		n = recv(helper->socket, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(answer) && answer == job ? 0 : -EIO;
}

void helper_process_free(struct helper_process *helper)
{
	if (!helper)
		return;
	close(helper->socket);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(helper);
}
