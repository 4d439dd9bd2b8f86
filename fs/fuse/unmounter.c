/* SPDX-License-Identifier: MIT */
/* unmounter.c - see unmounter.h. */
#include "fs/fuse/unmounter.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/utab.h"
#include "fs/util/helper_process.h"
#include "fs/util/mountinfo.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { UNMOUNT, LEAVE };

static bool is_any(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	(void)mount;
	(void)wanted;
	return true;
}

/* Whether no mount can be seen, as without /proc. */
static bool is_blind(void)
{
	struct mountinfo any;
	const bool sees = mountinfo_find(is_any, NULL, &any);

	mountinfo_release(&any);
	return !sees;
}

/* Find the mount by its number; found has to be released. Before Linux 5.8 mounts have no number;
 * then, or without /proc, the mount is taken to be at its old place. */
enum place { AS_IT_WAS, MOVED, COVERED, GONE };
static enum place find(const struct unmounter *unmounter, struct mountinfo *found)
{
	const struct mountinfo wanted = { .id = unmounter->id };
	struct mountinfo top;
	bool is_covered;

	*found = (struct mountinfo){ .point = unmounter->point };
	if (unmounter->id == 0 || is_blind())
		return AS_IT_WAS;
	/* The kernel reuses the number of a mount that has ended. */
	if (!mountinfo_find(mountinfo_has_id, &wanted, found) || found->device != unmounter->device)
		return GONE;
	is_covered = mountinfo_find(mountinfo_has_point, found, &top) && top.id != found->id;
	mountinfo_release(&top);
	if (is_covered)
		return COVERED;
	return strcmp(found->point, unmounter->point) == 0 ? AS_IT_WAS : MOVED;
}

/* In the child the descriptor of the connection is closed, which fuse_session_unmount() accepts. */
static void unmount(void *context)
{
	struct unmounter *unmounter = context;
	struct mountinfo mount;
	const enum place place = find(unmounter, &mount);

	unmounter->ended = true;
	if (place == AS_IT_WAS)
		fuse_session_unmount(unmounter->session);
	else if (place == MOVED)
		mountpoint_detach(&mount);
	mountinfo_release(&mount);
}

static void leave(void *context)
{
	const struct unmounter *unmounter = context;

	if (unmounter->in_utab)
		utab_leave(unmounter->point);
	if (unmounter->made)
		rmdir(unmounter->point);
}

/* Whether the mount at the point has no daemon. The kernel reuses the number of a mount that has
 * ended, so this may be another, live mount. A request that is on its way while the connection
 * closes gets ECONNABORTED, later ones ENOTCONN. fusermount3 asks only once, and leaves the mount
 * if it gets ECONNABORTED. */
static bool is_dead(const char *point)
{
	struct statfs status;
	int rc;

	do
		rc = statfs(point, &status);
	while (rc < 0 && (errno == ECONNABORTED || errno == EINTR));
	return rc < 0 && errno == ENOTCONN;
}

/* Whether the mount can be taken away; with dead, only if it also has no daemon. */
static bool is_there(const struct unmounter *unmounter, bool dead)
{
	struct mountinfo mount;
	const enum place place = find(unmounter, &mount);
	const bool there = unmounter->id != 0 && (place == AS_IT_WAS || place == MOVED) &&
			   (!dead || is_dead(mount.point));

	mountinfo_release(&mount);
	return there;
}

/* The daemon was killed. fusermount3 unmounts at the same moment, but not always (is_dead()), and
 * before its version 3.15 not if root has no access. It gets a second for that: both processes know
 * the mount by its path alone, and another mount may take that path once this one has ended. */
static void end_mount(void *context)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const struct unmounter *unmounter = context;

	if (!unmounter->automatic)
		return;
	for (int tries = 50; !unmounter->ended && tries > 0 && is_there(unmounter, false); tries--)
		nanosleep(&pause, NULL);
	if (!unmounter->ended && is_there(unmounter, true))
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

/* Whether another process has unmounted it; a mount at the path now is not ours. */
static bool is_gone(int connection)
{
	struct pollfd poll_for = { .fd = connection };

	return poll(&poll_for, 1, 0) == 1 && (poll_for.revents & POLLERR);
}

/* Close the connection before the unmount, as libfuse does, because the unmount may send it
 * requests. A pipe without a reader takes its number: libfuse sees the same error as after an
 * unmount, and does not unmount again. */
static void close_connection(int connection)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], connection, O_CLOEXEC);
	close(ends[1]);
}

int unmounter_unmount(struct unmounter *unmounter)
{
	const int connection = fuse_session_fd(unmounter->session);
	enum place place = GONE;
	struct mountinfo mount = { 0 };

	if (!is_gone(connection)) {
		place = find(unmounter, &mount);
		mountinfo_release(&mount);
		if (unmounter->helper || place != AS_IT_WAS)
			close_connection(connection);
		if (unmounter->helper)
			helper_process_run(unmounter->helper, UNMOUNT);
		else if (place != AS_IT_WAS)
			unmount(unmounter);
	}
	fuse_session_unmount(unmounter->session);
	return place == COVERED ? -EBUSY : 0;
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
