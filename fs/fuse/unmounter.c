/* SPDX-License-Identifier: MIT */
/* unmounter.c - see unmounter.h. */
#include "fs/fuse/unmounter.h"
#include "fs/mount/utab.h"
#include "fs/util/helper_process.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { UNMOUNT, LEAVE };

/* In the child the descriptor of the connection is closed, which libfuse does not mind. */
static void unmount(void *context)
{
	fuse_session_unmount(((struct unmounter *)context)->session);
}

static void leave(void *context)
{
	const struct unmounter *unmounter = context;

	if (unmounter->in_utab)
		utab_leave(unmounter->point);
	if (unmounter->made)
		rmdir(unmounter->point);
}

static void (*const jobs[])(void *context) = { unmount, leave };

int unmounter_fork(struct unmounter *unmounter)
{
	unmounter->helper = helper_process_new(jobs, sizeof(jobs) / sizeof(jobs[0]), unmounter,
					       "organfs-umounter");
	return unmounter->helper ? 0 : -errno;
}

/* Then another process has unmounted it, and what is mounted there now is not ours. */
static bool is_gone(int connection)
{
	struct pollfd poll_for = { .fd = connection };

	return poll(&poll_for, 1, 0) == 1 && (poll_for.revents & POLLERR);
}

/* As libfuse does, the connection is closed before the mount is taken away, which may ask it for
 * something. A pipe that is not read comes into its place: libfuse finds the same error there as
 * after an unmount, and does not unmount again. */
static void close_connection(int connection)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], connection, O_CLOEXEC);
	close(ends[1]);
}

void unmounter_unmount(struct unmounter *unmounter)
{
	const int connection = fuse_session_fd(unmounter->session);

	if (unmounter->helper && !is_gone(connection)) {
		close_connection(connection);
		helper_process_run(unmounter->helper, UNMOUNT);
	}
	fuse_session_unmount(unmounter->session);
}

void unmounter_leave(struct unmounter *unmounter)
{
	if (unmounter->helper)
		helper_process_run(unmounter->helper, LEAVE);
	else
		leave(unmounter);
	helper_process_free(unmounter->helper);
	unmounter->helper = NULL;
}
