/* SPDX-License-Identifier: MIT */
/* utab.c - see utab.h. `mount --fake` writes the file, because its lock and its format belong to
 * mount(8). */
#include "fs/mount/utab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* An entry has one option at least. */
#define OPTION "x-organfs.waits"

/* The source must differ from that of the mount: mount(8) takes an entry with the same source and
 * directory for its own, and would then not record the options that it was given. */
#define SOURCE "organfs"

/* mount(8) takes milliseconds, but waits for a lock that another process may hold. */
#define PATIENCE_MS 5000

/* The lock is held from the check whether a mount exists to the removal of its entry, and while an
 * entry is made, which happens after the mount. So the daemon of a mount that is gone never removes
 * the entry of the next mount at the same place. Only root can open the directory. */
#define LOCK_DIRECTORY "/run/mount"
#define LOCK_FILE      LOCK_DIRECTORY "/organfs.lock"

/* Take the lock. Returns a descriptor to close, or -1. Without the lock the work goes on: another
 * organfs holds the lock at most as long as await() takes, unless it is stopped. */
static int lock_entries(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int fd;

	mkdir(LOCK_DIRECTORY, 0755);
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (int tries = 2 * PATIENCE_MS / 10; fd >= 0 && tries > 0; tries--) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	return fd;
}

static void unlock_entries(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Wait for a child, and kill it after PATIENCE_MS. A child that a tracer holds, or that waits in
 * the kernel, may outlive this process; init reaps it then. */
static void await(pid_t pid)
{
	const int pidfd = pidfd_open(pid, 0);
	struct pollfd poll_for = { .fd = pidfd, .events = POLLIN };

	if (pidfd >= 0 && poll(&poll_for, 1, PATIENCE_MS) == 0) {
		kill(pid, SIGKILL);
		poll(&poll_for, 1, PATIENCE_MS);
	}
	if (pidfd >= 0)
		close(pidfd);
	waitpid(pid, NULL, pidfd >= 0 ? WNOHANG : 0);
}

/* Run a program without output and with no signal blocked, and ignore its result. */
static void run(const char *const argv[])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int rc;

	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return;
	if (posix_spawnattr_init(&attributes) == 0) {
		rc = posix_spawnattr_setsigmask(&attributes, &none);
		if (rc == 0)
			rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		for (int fd = STDIN_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++)
			rc = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
		if (rc == 0)
			rc = posix_spawn(&pid, argv[0], &actions, &attributes, (char *const *)argv,
					 environ);
		if (rc == 0)
			await(pid);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
}

bool utab_enter(const char *point)
{
	int lock;

	if (getuid() != 0 || geteuid() != 0)
		return false;
	lock = lock_entries();
	run((const char *const[]){ "/bin/mount", "--fake", "--internal-only", "--no-canonicalize",
				   "-t", "fuse.organfs", "-o", OPTION, "--", SOURCE, point, NULL });
	unlock_entries(lock);
	return true;
}

/* Is point a mount? Sends no request to the mount, which may not answer. */
static bool is_mount(const char *point)
{
	struct statx stat;

	return statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &stat) == 0 &&
	       (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

void utab_leave(const char *point)
{
	const int lock = lock_entries();

	if (!is_mount(point))
		run((const char *const[]){ "/bin/umount", "--fake", "--internal-only",
					   "--no-canonicalize", "--", point, NULL });
	unlock_entries(lock);
}
