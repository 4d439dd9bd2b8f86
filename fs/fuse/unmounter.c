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
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { UNMOUNT, LEAVE };

static bool is_any(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	(void)mount;
	(void)wanted;
	return true;
}

/* Can no mount be seen from here, as where there is no /proc? */
static bool is_blind(void)
{
	struct mountinfo any;
	const bool sees = mountinfo_find(is_any, NULL, &any);

	mountinfo_release(&any);
	return !sees;
}

/* Where is the mount now? Found has to be released. Where Linux is older than 5.8 it has no number,
 * and then, or where no mount can be seen, it is taken to be where it was. */
enum place { AS_IT_WAS, MOVED, COVERED, GONE };
static enum place find(const struct unmounter *unmounter, struct mountinfo *found)
{
	const struct mountinfo wanted = { .id = unmounter->id };
	struct mountinfo top;
	bool is_covered;

	*found = (struct mountinfo){ .point = unmounter->point };
	if (unmounter->id == 0 || is_blind())
		return AS_IT_WAS;
	/* The number of one that is gone is given to another one. */
	if (!mountinfo_find(mountinfo_has_id, &wanted, found) || found->device != unmounter->device)
		return GONE;
	is_covered = mountinfo_find(mountinfo_has_point, found, &top) && top.id != found->id;
	mountinfo_release(&top);
	if (is_covered)
		return COVERED;
	return strcmp(found->point, unmounter->point) == 0 ? AS_IT_WAS : MOVED;
}

/* As libfuse does it, which knows the mount by the path that it had. */
static void unmount_at(const char *point)
{
	const char *const argv[] = { "fusermount3", "-u", "-q", "-z", "--", point, NULL };
	pid_t pid;

	if (geteuid() == 0)
		umount2(point, MNT_DETACH | UMOUNT_NOFOLLOW);
	else if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0)
		waitpid(pid, NULL, 0);
}

/* In the child the descriptor of the connection is closed, which libfuse does not mind. */
static void unmount(void *context)
{
	struct unmounter *unmounter = context;
	struct mountinfo mount;
	const enum place place = find(unmounter, &mount);

	unmounter->ended = true;
	if (place == AS_IT_WAS)
		fuse_session_unmount(unmounter->session);
	else if (place == MOVED)
		unmount_at(mount.point);
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

/* Is the mount where it can be taken away, and, if only that counts, dead? */
static bool is_there(const struct unmounter *unmounter, bool dead)
{
	struct mountinfo mount;
	const enum place place = find(unmounter, &mount);
	const bool there = unmounter->id != 0 && (place == AS_IT_WAS || place == MOVED) &&
			   (!dead || is_dead(mount.point));

	mountinfo_release(&mount);
	return there;
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
