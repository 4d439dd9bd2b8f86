/* SPDX-License-Identifier: MIT */
/* supervise SECONDS DIRECTORY COMMAND...: run a test as the subreaper of all of its processes, and
 * leave neither a process nor a mount below DIRECTORY.
 *
 * The exit status is the command's, 128 and the number of the signal that ended it, 124 after
 * SECONDS, or 129, 130 or 143 if SIGHUP, SIGINT or SIGTERM ended the supervisor itself; the end of
 * its parent counts as SIGTERM. DIRECTORY/logs/supervised gets a line for each
 *
 *	signal NAME: COMM	a process, adopted or not, that a fault ended
 *	left running: COMMAND	a process that still runs GRACE_S after a command that succeeded
 *	left mounted: PATH	a mount that is still there then
 *	cpu: SECONDS		user and system time of all processes */
#include "fs/util/mountinfo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 20, KILL_S = 5, REAP_S = 20 };

struct supervisor {
	const char *directory;
	FILE *log;
	int signals; /* a signalfd */
	int mounts;  /* /proc/self/mounts, which polls as an error after a change */
	pid_t command;
	int status; /* of the command, after its end */
	bool ended;
	int told; /* the signal that ends the supervisor, or 0 */
};

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_fault(int signal)
{
	static const int faults[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP };

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		if (faults[i] == signal)
			return true;
	}
	return false;
}

/* Read the file NAME of a process, with blanks for NULs and newlines; "" if there is none. */
static void read_process(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	n = n < 0 ? 0 : n;
	text[n] = '\0';
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\0' || text[i] == '\n')
			text[i] = ' ';
	}
}

/* Reap all processes that have ended. Returns whether any is left. */
static bool reap(struct supervisor *s)
{
	for (;;) {
		siginfo_t info = { 0 };
		char comm[32];

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT))
			return errno != ECHILD;
		if (!info.si_pid)
			return true;
		if (info.si_code != CLD_EXITED && is_fault(info.si_status)) {
			read_process(info.si_pid, "comm", comm, sizeof(comm));
			fprintf(s->log, "signal %s: %s\n", sigabbrev_np(info.si_status), comm);
		}
		if (info.si_pid == s->command && !s->ended) {
			s->ended = true;
			s->status =
				info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
		}
		waitpid(info.si_pid, NULL, 0);
	}
}

/* Wait for an event, at most until END. Returns false after END. */
static bool await(struct supervisor *s, int64_t end)
{
	struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
				{ .fd = s->mounts, .events = POLLPRI } };
	const int64_t left = end - milliseconds();
	struct signalfd_siginfo info;

	if (left <= 0)
		return false;
	if (poll(fds, 2, left > INT_MAX ? INT_MAX : (int)left) > 0 && fds[0].revents &&
	    read(s->signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
		s->told = (int)info.ssi_signo;
	return true;
}

static void unmount(const char *path)
{
	pid_t helper;

	if (!umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW))
		return;
	helper = fork();
	if (helper == 0) {
		execlp("fusermount3", "fusermount3", "-q", "-u", "-z", path, (char *)NULL);
		_exit(127);
	}
	if (helper > 0)
		waitpid(helper, NULL, 0);
}

static bool is_below(const struct mountinfo *mount, const struct mountinfo *directory)
{
	const size_t n = strlen(directory->point);

	return strncmp(mount->point, directory->point, n) == 0 && mount->point[n] == '/';
}

/* Find the newest mount below the directory. If true, the caller calls mountinfo_release(). */
static bool find_mount(const struct supervisor *s, struct mountinfo *found)
{
	const struct mountinfo directory = { .point = s->directory };

	return mountinfo_find(is_below, &directory, found);
}

static bool has_mount(const struct supervisor *s)
{
	struct mountinfo mount;
	const bool has = find_mount(s, &mount);

	mountinfo_release(&mount);
	return has;
}

/* Unmount all mounts below the directory. If TELL, log each first. */
static void end_mounts(struct supervisor *s, bool tell)
{
	struct mountinfo mount;
	int last = -1;

	while (find_mount(s, &mount) && mount.id != last) {
		if (tell)
			fprintf(s->log, "left mounted: %s\n", mount.point);
		unmount(mount.point);
		last = mount.id;
		mountinfo_release(&mount);
	}
	mountinfo_release(&mount);
}

/* Kill the children; their own children become the supervisor's. If TELL, log each first. */
static void kill_children(struct supervisor *s, bool tell)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		const pid_t pid = (pid_t)atoi(entry->d_name);
		char text[1024];
		const char *rest;
		int parent;

		if (pid <= 0)
			continue;
		read_process(pid, "stat", text, sizeof(text));
		rest = strrchr(text, ')');
		if (!rest || sscanf(rest, ") %*c %d", &parent) != 1 || parent != getpid())
			continue;
		if (tell) {
			read_process(pid, "cmdline", text, sizeof(text));
			fprintf(s->log, "left running: %s\n", text);
		}
		kill(pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

/* Wait for the end of the command, or end it. */
static void watch(struct supervisor *s, long seconds)
{
	const int64_t end = milliseconds() + seconds * 1000;

	while (reap(s), !s->ended && !s->told) {
		if (await(s, end))
			continue;
		kill(-s->command, SIGTERM);
		while (reap(s), !s->ended && !s->told && await(s, end + KILL_S * 1000))
			;
		s->ended = true;
		s->status = 124;
	}
}

static void clean_up(struct supervisor *s)
{
	const bool well = s->ended && s->status == 0 && !s->told;
	int64_t end = milliseconds() + GRACE_S * 1000;
	bool left;

	while ((left = reap(s) || has_mount(s)) && well && !s->told && await(s, end))
		;
	if (!left)
		return;
	end_mounts(s, well);
	kill_children(s, well);
	end = milliseconds() + REAP_S * 1000;
	while (reap(s)) {
		kill_children(s, false);
		if (!await(s, milliseconds() + 50) && milliseconds() > end)
			break;
	}
}

static pid_t start(char **command, const sigset_t *before)
{
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	/* A shell's background jobs ignore SIGINT, and nohup(1) ignores SIGHUP. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0); /* the runner's lock is among these */
	setsid();
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct supervisor s = { .signals = -1 };
	struct rusage used;
	char path[PATH_MAX];
	sigset_t set, before;

	if (argc < 4) {
		fputs("usage: supervise SECONDS DIRECTORY COMMAND...\n", stderr);
		return 2;
	}
	s.directory = argv[2];
	snprintf(path, sizeof(path), "%s/logs/supervised", s.directory);
	s.log = fopen(path, "ae");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC);
	s.mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
	if (!s.log || s.signals < 0 || s.mounts < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) || (s.command = start(argv + 3, &before)) < 0) {
		perror("supervise");
		return 2;
	}
	watch(&s, atol(argv[1]));
	clean_up(&s);
	getrusage(RUSAGE_CHILDREN, &used);
	fprintf(s.log, "cpu: %.2f\n",
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	return s.told ? 128 + s.told : s.status;
}
