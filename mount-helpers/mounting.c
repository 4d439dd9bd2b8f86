/* SPDX-License-Identifier: MIT */
/* mounting.c - see mounting.h. */
#include "mount-helpers/mounting.h"
#include "fs/util/url.h"
#include "mount-helpers/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of mount(8). */
enum { BAD_USAGE = 1, NO_ORGANFS = 2, NOT_MOUNTED = 32 };

/* PATH for organfs run as another user, as after a login. */
#define USERS_PATH "/usr/local/bin:/bin:/usr/bin"

/* Set PATH, which mount(8) does not pass on. */
static void set_path(const char *program)
{
	const char *slash = strrchr(program, '/');
	char *path;

	if (asprintf(&path,
		     "%.*s/../bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		     slash ? (int)(slash - program) : 1, slash ? program : ".") < 0)
		return;
	setenv("PATH", path, 1);
	free(path);
}

/* Find organfs in PATH. */
static bool find_organfs(char program[PATH_MAX])
{
	const char *path = getenv("PATH");
	size_t n;

	for (; path; path = path[n] ? path + n + 1 : NULL) {
		n = strcspn(path, ":");
		if (snprintf(program, PATH_MAX, "%.*s/organfs", (int)n, path) < PATH_MAX &&
		    access(program, X_OK) == 0)
			return true;
	}
	return false;
}

/* Find a user by name or number, or NULL. */
static const struct passwd *find_user(const char *user)
{
	const struct passwd *found = getpwnam(user);
	const unsigned long long number = strtoull(user, NULL, 10);

	/* (uid_t)-1 is no user: chown(2) takes it for "unchanged". */
	if (!found && strspn(user, "0123456789") == strlen(user) && strlen(user) <= 10 &&
	    number < UINT32_MAX)
		found = getpwuid((uid_t)number);
	return found;
}

/* Take the rights, home and state directory of a user. Returns 0 or the exit status. */
static int become(const char *name, const char *user)
{
	const struct passwd *found = find_user(user);
	char *terminal = getenv("TERM");

	if (!found) {
		fprintf(stderr, "%s: setuid=%s: there is no such user\n", name, user);
		return BAD_USAGE;
	}
	if (found->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0) {
		fprintf(stderr, "%s: setuid=%s: only root can mount for another user\n", name,
			user);
		return BAD_USAGE;
	}
	terminal = terminal ? strdup(terminal) : NULL;
	if (initgroups(found->pw_name, found->pw_gid) < 0 ||
	    setresgid(found->pw_gid, found->pw_gid, found->pw_gid) < 0 ||
	    setresuid(found->pw_uid, found->pw_uid, found->pw_uid) < 0 || clearenv() != 0 ||
	    (terminal && setenv("TERM", terminal, 1) < 0) || setenv("HOME", found->pw_dir, 1) < 0 ||
	    setenv("SHELL", found->pw_shell, 1) < 0 || setenv("USER", found->pw_name, 1) < 0 ||
	    setenv("LOGNAME", found->pw_name, 1) < 0 || setenv("PATH", USERS_PATH, 1) < 0) {
		fprintf(stderr, "%s: setuid=%s: %s\n", name, user, strerror(errno));
		free(terminal);
		return NOT_MOUNTED;
	}
	free(terminal);
	return 0;
}

static int enter(const char *name, const char *space)
{
	const int fd = open(space, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && setns(fd, CLONE_NEWNS) == 0) {
		close(fd);
		return 0;
	}
	fprintf(stderr, "%s: %s: %s\n", name, space, strerror(errno));
	if (fd >= 0)
		close(fd);
	return NOT_MOUNTED;
}

static int run(const char *name, char *const argv[])
{
	pid_t pid;
	int status = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);

	if (status != 0) {
		fprintf(stderr, "%s: %s: %s\n", name, argv[0], strerror(status));
		return NOT_MOUNTED;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? BAD_USAGE : NOT_MOUNTED;
}

/* Read-ahead of the kernel in KiB: its default, 128, costs a third of the speed, and only root may
 * raise it. Setting it sends no request to the mount, which refuses root's if another user owns
 * it. */
#define READAHEAD "1024\n"

static void raise_readahead(const char *directory)
{
	struct statx stat;
	char path[64];
	int fd;

	/* A mount has an anonymous device, with major number 0; leave the read-ahead of a disk
	 * alone. */
	if (statx(AT_FDCWD, directory, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &stat) < 0 ||
	    stat.stx_dev_major != 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/0:%u/read_ahead_kb", stat.stx_dev_minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, READAHEAD, strlen(READAHEAD));
		close(fd);
	}
}

/* Run organfs as the user in a child, because this process still needs root's rights afterwards. */
static int run_as(const char *name, const struct mount_arguments *arguments, char *const argv[])
{
	const pid_t pid = fork();
	struct stat stat;
	int status;

	if (pid < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		return NOT_MOUNTED;
	}
	if (pid == 0) {
		status = become(name, arguments->user);
		if (status == 0)
			status = run(name, argv);
		/* The answer to the kernel's first request also sets the read-ahead. Until it is
		 * there, other requests wait. */
		if (status == 0)
			(void)!lstat(arguments->directory, &stat);
		_exit(status);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return NOT_MOUNTED;
	if (WEXITSTATUS(status) == 0)
		raise_readahead(arguments->directory);
	return WEXITSTATUS(status);
}

int mounting_run(const char *name, const char *path, const struct mount_arguments *arguments)
{
	char program[PATH_MAX], *argv[7];
	size_t n = 0;
	int status = arguments->space ? enter(name, arguments->space) : 0;

	if (status)
		return status;
	if (arguments->optional && !url_is_remote(arguments->source) &&
	    !url_is_store(arguments->source) && access(arguments->source, F_OK) < 0) {
		if (arguments->verbose)
			fprintf(stderr, "%s: %s is not there, and does not have to be\n", name,
				arguments->source);
		return 0;
	}
	set_path(path);
	if (!find_organfs(program)) {
		fprintf(stderr, "%s: organfs is not installed\n", name);
		return NO_ORGANFS;
	}
	argv[n++] = program;
	if (arguments->options) {
		argv[n++] = (char *)"-o";
		argv[n++] = arguments->options;
	}
	argv[n++] = (char *)"--";
	argv[n++] = (char *)arguments->source;
	argv[n++] = (char *)arguments->directory;
	argv[n] = NULL;
	if (arguments->verbose) {
		fprintf(stderr, "%s:", name);
		for (size_t i = 0; i < n; i++)
			fprintf(stderr, " %s", argv[i]);
		fputc('\n', stderr);
	}
	if (arguments->fake)
		return 0;
	return arguments->user ? run_as(name, arguments, argv) : run(name, argv);
}
