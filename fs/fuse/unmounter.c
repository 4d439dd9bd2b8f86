/* SPDX-License-Identifier: MIT */
/* unmounter.c - see unmounter.h. */
#include "fs/fuse/unmounter.h"
#include "fs/mount/utab.h"
#include "fs/util/helper_process.h"
#include "fs/util/mountinfo.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { UNMOUNT, LEAVE };

/* In the child the descriptor of the connection is closed, which libfuse does not mind. */
static void unmount(void *context)
{
	struct unmounter *unmounter = context;

	unmounter->ended = true;
	fuse_session_unmount(unmounter->session);
}

static void leave(void *context)
{
	const struct unmounter *unmounter = context;

	if (unmounter->in_utab)
		utab_leave(unmounter->point);
	if (unmounter->made)
		rmdir(unmounter->point);
}

/* Is the mount there, and above what else is mounted there? */
static bool is_there(const struct unmounter *unmounter)
{
	const struct mountinfo wanted = { .point = unmounter->point };
	struct mountinfo found;
	bool there;

	if (!mountinfo_find(mountinfo_has_point, &wanted, &found))
		return false;
	there = unmounter->device != 0 && found.device == unmounter->device;
	mountinfo_release(&found);
	return there;
}

/* The kernel gives the number of a mount that is gone to the next one, whose daemon lives. A
 * request that is on its way while the connection is closed is ECONNABORTED, later ones ENOTCONN.
 * fusermount3 leaves the mount where it meets the first: it asks once. */
static bool is_dead(const char *point)
{
	struct statfs status;
	int rc;

	do
		rc = statfs(point, &status);
	while (rc < 0 && (errno == ECONNABORTED || errno == EINTR));
	return rc < 0 && errno == ENOTCONN;
}

/* The daemon was killed. fusermount3 ends the mount in the same moment, but not always (is_dead()),
 * and before its version 3.15 not where root is not let in. It has a second for that: both know the
 * mount by its path alone, where another one may be as soon as it is gone. */
static void end_mount(void *context)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const struct unmounter *unmounter = context;

	if (!unmounter->automatic)
		return;
	for (int tries = 50; !unmounter->ended && tries > 0 && is_there(unmounter); tries--)
		nanosleep(&pause, NULL);
	if (!unmounter->ended && is_there(unmounter) && is_dead(unmounter->point))
		unmount(context);
	if (unmounter->in_utab)
		utab_leave(unmounter->point);
}

int unmounter_fork(struct unmounter *unmounter)
{
	static void (*const jobs[])(void *context) = { [UNMOUNT] = unmount, [LEAVE] = leave };
	static const struct helper_jobs all = { .jobs = jobs,
						.n = sizeof(jobs) / sizeof(jobs[0]),
						.orphaned = end_mount };

	unmounter->helper = helper_process_new(&all, unmounter, "organfs-umounter");
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
