/* SPDX-License-Identifier: MIT */
/* unmounting.c - see unmounting.h. */
#include "fs/util/io.h"
#include "fs/util/mountinfo.h"
#include "fs/util/paths.h"
#include "fs/util/root_unmount.h"
#include "mount-helpers/arguments.h"
#include "mount-helpers/daemon_status.h"
#include "mount-helpers/noassemble.h"
#include "mount-helpers/outcome.h"
#include "mount-helpers/unmounting.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOT_WRITTEN = 1, STAYS_MOUNTED = 32, INTERRUPTED = 130 };

/* Seconds that root waits for another user's daemon without progress. A test sets less. */
#ifndef PATIENCE_S
#define PATIENCE_S 3600
#endif

/* Seconds to wait for the superblock's end if no other mount of it is visible. */
#define ELSEWHERE_S 5

#define QUIET_S	     0.2 /* before progress is shown */
#define PAUSE_MS_MAX 100 /* between two checks */

/* Programs that are run, and their Debian packages. mount-helpers/needs reads the comments, which
 * name the feature that fails without the program. */
enum { FUSERMOUNT, UMOUNT };
static const struct tool {
	const char *name, *package;
} tools[] = {
	[FUSERMOUNT] = { "fusermount3", "fuse3" }, /* users other than root cannot unmount */
	[UMOUNT] = { "umount", "mount" },	   /* root leaves a line in the table of mounts */
};

struct work {
	const char *name;
	const struct unmount_arguments *arguments;
	struct mountinfo mount;
	struct daemon_status daemon;
	bool at_terminal;
	int width;	     /* of the drawn line */
	double begin, moved; /* start of the waiting; last progress of the daemon */
	struct outcome_state state;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Draw a line on a terminal in place of the previous one. */
static void draw(struct work *work, const char *line)
{
	printf("\r%*s\r%s", work->width, "", line);
	fflush(stdout);
	work->width = (int)strlen(line);
}

static void say(struct work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct work *work, const char *format, ...)
{
	char *text;
	va_list arguments;
	int n;

	if (work->width)
		draw(work, "");
	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	fprintf(stderr, "%s: ", work->name);
	outcome_put(stderr, text, (size_t)n, SIZE_MAX);
	fputc('\n', stderr);
	free(text);
}

/* Run a program with its output to a descriptor; -1: to this process's stdout and stderr. Returns
 * its exit status. */
static int run(const struct work *work, const struct tool *tool, const char *const argv[], int out)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (out >= 0) {
			dup2(out, STDOUT_FILENO);
			dup2(out, STDERR_FILENO);
		}
		execvp(tool->name, (char *const *)argv);
		if (errno == ENOENT)
			dprintf(STDERR_FILENO, "%s: needs %s (package %s)\n", work->name,
				tool->name, tool->package);
		else
			dprintf(STDERR_FILENO, "%s: %s: %s\n", work->name, tool->name,
				strerror(errno));
		_exit(STAYS_MOUNTED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : STAYS_MOUNTED;
}

/* fake: umount(8) only removes its record of a mount that is gone. */
static int run_umount(const struct work *work, const char *point, bool fake, int out)
{
	const struct unmount_arguments *arguments = work->arguments;
	const char *argv[10] = { tools[UMOUNT].name, "-i" };
	size_t n = 2;

	if (fake)
		argv[n++] = "--fake";
	if (fake)
		argv[n++] = "--no-canonicalize";
	if (arguments->flags[1])
		argv[n++] = arguments->flags;
	if (arguments->space) {
		argv[n++] = "-N";
		argv[n++] = arguments->space;
	}
	argv[n++] = "--";
	argv[n] = point;
	return run(work, &tools[UMOUNT], argv, out);
}

/* Unmount like umount(8), except that the path cannot lead to another mount, and that a mount that
 * could only be made read-only counts as busy. Afterwards umount(8) removes its record of the
 * mount; without that program the record stays. */
static int unmount_as_root(const struct work *work, bool last, int out)
{
	const char *flags = work->arguments->flags, *point = work->mount.point;
	const int how =
		(work->arguments->lazy ? MNT_DETACH : 0) | (strchr(flags, 'f') ? MNT_FORCE : 0);
	const int rc = root_unmount(&work->mount, how, last && strchr(flags, 'r') != NULL);

	if (rc == 0)
		run_umount(work, point, true, out);
	else if (rc > 0)
		dprintf(out, "umount: %s: busy, and read-only from now on.\n", point);
	else
		dprintf(out, "umount: %s: %s.\n", point,
			rc == -EBUSY
				? "target is busy; fuser -vm lists its users, and -l detaches it"
			: rc == -ESTALE ? "another mount is there now"
					: strerror(-rc));
	return rc ? STAYS_MOUNTED : 0;
}

/* Try once to unmount, like umount(8) and fusermount3(1); last: for the last time. Their output
 * goes to out. */
static int unmount_once(const struct work *work, bool last, int out)
{
	const char *const argv[] = { tools[FUSERMOUNT].name, work->arguments->lazy ? "-uz" : "-u",
				     work->mount.point, NULL };

	return geteuid() == 0 ? unmount_as_root(work, last, out)
			      : run(work, &tools[FUSERMOUNT], argv, out);
}

static bool is_there(const struct work *work)
{
	struct mountinfo found;
	const bool is = mountinfo_find(mountinfo_has_id, &work->mount, &found) &&
			mountinfo_has_device(&found, &work->mount);

	mountinfo_release(&found);
	return is;
}

static void pass_on(int from, FILE *to)
{
	char bytes[4096];
	uint64_t offset = 0;

	for (ssize_t n; (n = io_read(from, bytes, sizeof(bytes), offset)) > 0; offset += (size_t)n)
		fwrite(bytes, (size_t)n, 1, to);
	fflush(to);
}

/* Unmount, with retries: a process that asks the daemon keeps the mount busy for a moment. That is
 * another helper, which may unmount meanwhile, or a child of this one, whose request -f ends. */
static bool is_unmounted(const struct work *work)
{
	bool done, last, gone = false;
	int out;

	for (int pause = 50;; pause *= 2) {
		last = work->arguments->lazy || pause > 200;
		out = memfd_create("umount", MFD_CLOEXEC);
		done = unmount_once(work, last, out) == 0;
		if (!done && !work->arguments->lazy)
			gone = !is_there(work);
		if (done || gone || last)
			break;
		close(out);
		poll(NULL, 0, pause);
	}
	if (!gone)
		pass_on(out, done ? stdout : stderr);
	close(out);
	return done || gone;
}

/* Block the signals that end the waiting, and return a descriptor that is readable when one
 * comes. Signals ignored at the start stay ignored. -1: no descriptor, and the signals end
 * this process. */
static int catch_signals(sigset_t *signals)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;
	int fd;

	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(signals, numbers[i]);
	fd = signalfd(-1, signals, SFD_CLOEXEC);
	if (fd >= 0)
		sigprocmask(SIG_BLOCK, signals, NULL);
	return fd;
}

/* Without inotify (daemon_status.h), look for the device's entry in sysfs; a newer mount may have
 * reused the device number. */
static bool is_superblock_gone(const struct work *work)
{
	struct pollfd poll_for = { .fd = work->daemon.events, .events = POLLIN };
	char path[64];

	if (poll_for.fd >= 0)
		return poll(&poll_for, 1, 0) == 1;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u", major(work->mount.device),
		 minor(work->mount.device));
	return access(path, F_OK) < 0;
}

/* Does the superblock stay in use elsewhere? Then says so. */
static bool is_elsewhere(struct work *work)
{
	struct mountinfo other;

	if (!work->state.is_mounted || is_superblock_gone(work))
		return false;
	if (mountinfo_find(mountinfo_has_device, &work->mount, &other)) {
		say(work, "%s: also mounted at %s: nothing is written before that one is unmounted",
		    work->mount.point, other.point);
		mountinfo_release(&other);
		return true;
	}
	if (now() - work->begin < ELSEWHERE_S)
		return false;
	say(work, "%s: also mounted elsewhere: nothing is written before that one is unmounted",
	    work->mount.point);
	return true;
}

/* Read the daemon's status and draw its progress. */
static void look(struct work *work)
{
	const uint64_t before = work->state.done;
	char first[128];
	const ssize_t n = io_read(work->daemon.status, first, sizeof(first) - 1, 0);

	first[n < 0 ? 0 : n] = '\0';
	if (!outcome_state(first, &work->state))
		work->state = (struct outcome_state){ .is_mounted = false };
	if (work->state.done != before)
		work->moved = now();
}

/* Root waits for another user's daemon only while it makes progress, except at a terminal, where
 * the user can interrupt the waiting. */
static bool is_stuck(struct work *work)
{
	unsigned user;

	if (work->at_terminal || geteuid() != 0 || now() - work->moved < PATIENCE_S ||
	    !mountinfo_option(&work->mount, "user_id", &user) || user == 0)
		return false;
	say(work, "%s: nothing was written for %d s: not waiting any longer", work->mount.point,
	    PATIENCE_S);
	return true;
}

static void show_progress(struct work *work)
{
	char *text, line[256];

	if (!work->at_terminal || now() - work->begin < QUIET_S)
		return;
	text = outcome_read(work->daemon.status);
	if (text && outcome_progress(text, line, sizeof(line)))
		draw(work, line);
	free(text);
}

/* Wait until the daemon has ended. Returns -1 then, or the exit status if the waiting is
 * given up. */
static int wait_for_daemon(struct work *work, int signals)
{
	struct pollfd poll_for = { .fd = signals, .events = POLLIN };

	work->begin = work->moved = now();
	for (int pause = 1; flock(work->daemon.status, LOCK_SH | LOCK_NB) < 0; pause *= 2) {
		if (errno != EWOULDBLOCK) {
			say(work, "%s: flock: %s: not waiting for its daemon", work->mount.point,
			    strerror(errno));
			return 0;
		}
		look(work);
		if (is_elsewhere(work))
			return 0;
		if (is_stuck(work))
			return NOT_WRITTEN;
		show_progress(work);
		if (pause > PAUSE_MS_MAX)
			pause = PAUSE_MS_MAX;
		if (poll(&poll_for, 1, pause) == 1) {
			say(work, "the daemon goes on by itself");
			return INTERRUPTED;
		}
	}
	if (work->width)
		draw(work, "");
	return -1;
}

static int wait_and_report(struct work *work)
{
	FILE *out = work->at_terminal || work->arguments->verbose ? stdout : NULL;
	sigset_t blocked;
	const int signals = catch_signals(&blocked);
	int status = wait_for_daemon(work, signals);
	char *text;

	if (signals >= 0)
		close(signals);
	/* Keep the signals blocked, or the pending one would end this process without its
	 * status. */
	if (status == INTERRUPTED)
		return status;
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	if (status >= 0)
		return status;
	text = outcome_read(work->daemon.status);
	status = outcome_print(text ? text : "", work->name, out, stderr);
	free(text);
	return status;
}

static int unmount_found(struct work *work)
{
	const bool lazy = work->arguments->lazy;
	unsigned user;
	int keeps;

	if (geteuid() != 0 && mountinfo_option(&work->mount, "user_id", &user) && user == 0) {
		say(work, "%s: root has mounted it; unmount it as root: sudo umount %s",
		    work->mount.point, work->mount.point);
		return STAYS_MOUNTED;
	}
	keeps = work->arguments->keep ? noassemble_set(&work->mount) : 0;
	if (keeps < 0) {
		say(work, "%s: --keep: its daemon does not take that: %s; it stays mounted",
		    work->mount.point, strerror(-keeps));
		return STAYS_MOUNTED;
	}
	if (!lazy)
		daemon_status_open(&work->mount, &work->daemon);
	if (!is_unmounted(work)) {
		if (keeps)
			noassemble_clear(&work->mount);
		return STAYS_MOUNTED;
	}
	if (work->daemon.status >= 0)
		return wait_and_report(work);
	if (work->daemon.is_dead)
		say(work,
		    "%s: the daemon has died, or its connection was aborted; grafts that it has "
		    "not written are kept: mount the model again",
		    work->mount.point);
	else if (!lazy)
		say(work, "%s: its daemon cannot be asked how far it is: not waiting for it",
		    work->mount.point);
	return 0;
}

static int unmount(const char *name, const struct unmount_arguments *arguments, const char *point)
{
	struct work work = { .name = name,
			     .arguments = arguments,
			     .daemon = { .status = -1, .events = -1 },
			     .at_terminal = isatty(STDOUT_FILENO) };
	char *path = arguments->space ? NULL : paths_mount_point(point);
	const struct mountinfo wanted = { .point = path };
	int status;

	if (path && mountinfo_find(mountinfo_has_point, &wanted, &work.mount) &&
	    work.mount.is_organfs) {
		status = unmount_found(&work);
	} else if (arguments->space || strcmp(name, "organfs-umount") != 0) {
		/* Not organfs, or in a namespace whose daemons are not visible from here. */
		status = run_umount(&work, point, false, -1);
	} else {
		say(&work, "%s: not an organfs mount", path ? path : point);
		status = STAYS_MOUNTED;
	}
	daemon_status_close(&work.daemon);
	mountinfo_release(&work.mount);
	free(path);
	return status;
}

/* Returns whether the next mount may follow. */
static bool add_status(int *status, int one)
{
	*status = one == INTERRUPTED ? one : *status | one;
	return one != INTERRUPTED;
}

/* Unmount all mounts of this user, the newest first, since its model may lie in an older mount. */
static int unmount_all(const char *name, const struct unmount_arguments *arguments)
{
	size_t n, left;
	struct mountinfo *mounts = mountinfo_list(&n);
	int status = 0;

	for (left = n; left > 0; left--)
		if (mountinfo_is_of(&mounts[left - 1], geteuid()) &&
		    !add_status(&status, unmount(name, arguments, mounts[left - 1].point)))
			break;
	mountinfo_list_free(mounts, n);
	return status;
}

int unmounting_run(const char *name, const struct unmount_arguments *arguments)
{
	int status = 0;

	if (arguments->all)
		return unmount_all(name, arguments);
	for (int i = 0; i < arguments->n; i++)
		if (!add_status(&status, unmount(name, arguments, arguments->points[i])))
			break;
	return status;
}
