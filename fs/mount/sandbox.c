/* SPDX-License-Identifier: MIT */
/* sandbox.c - see sandbox.h. */
#include "fs/mount/sandbox.h"
#include "fs/mount/merge_option.h"
#include "fs/mount/options.h"
#include "fs/util/capabilities.h"
#include "fs/util/landlock.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/syscall_filter.h"
#include "fs/util/url.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Capabilities to open files with the rights of the calling user. CAP_SYS_PTRACE is for finding
 * donors: the daemon reads a writer's descriptors and working directory in /proc, and the writer
 * may have more capabilities than the daemon. */
#define FOR_USERS                                                                           \
	(CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_DAC_OVERRIDE) |   \
	 CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_CHOWN) | \
	 CAPABILITY(CAP_SYS_PTRACE))

/* For mount(2), and later for passthrough (fs/fuse/passthrough.h). */
#define FOR_MOUNTS CAPABILITY(CAP_SYS_ADMIN)

/* Longest wait for the other threads to end. */
#define PATIENCE_MS 3000

static void forbid_core_dumps(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

void sandbox_begin_mount(void)
{
	forbid_core_dumps();
	capabilities_keep(FOR_USERS | FOR_MOUNTS);
}

/* Hide the memory of root's daemon. umount opens the daemon's status in /proc (unmount_status.h),
 * and a process that is not dumpable grants that only to CAP_SYS_PTRACE. So the daemon of a user
 * stays dumpable, and in a container without CAP_SYS_PTRACE root's daemon does too. */
static void hide_memory(void)
{
	if (geteuid() == 0 && capabilities_have(CAP_SYS_PTRACE) && syscall_filter_is_built())
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Is this thread the only one? Threads that probed paths may still be ending, so wait for them. */
static bool is_alone(void)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct stat stat;

	/* Each thread is a subdirectory and adds a link to this directory. */
	for (int tries = 0; tries <= PATIENCE_MS / 10; tries++) {
		if (lstat("/proc/self/task", &stat) == 0 && stat.st_nlink == 3)
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

static int confine(const struct landlock *landlock, struct log *log)
{
	int rc = is_alone() ? landlock_enter(landlock) : -EBUSY;

	if (rc < 0)
		log_report(log, "confine: the files cannot be confined: %s",
			   rc == -EBUSY ? "threads run already; leave out -f, or recipe="
					: strerror(-rc));
	return rc;
}

int sandbox_enter_mount(const struct options *options, bool remote, const struct landlock *landlock,
			struct log *log)
{
	int rc = landlock ? confine(landlock, log) : 0;

	if (rc < 0)
		return rc;
	hide_memory();
	if (options->no_passthrough && capabilities_keep(FOR_USERS) < 0)
		log_add(log, "CAP_SYS_ADMIN cannot be dropped");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_add(log, "no_new_privs cannot be set: %s", strerror(errno));
	rc = syscall_filter_enter(remote);
	if (rc < 0)
		log_add(log, "seccomp filter not installed: %s", strerror(-rc));
	return 0;
}

/* Allow the other shards beside the one at path; each may be a link to another directory. Returns
 * false if the shards cannot be found. */
static bool allow_shards(struct landlock *landlock, const char *path, const char *directory)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t n = paths_shard_prefix(name);
	const struct dirent *entry;
	char shard[PATH_MAX];
	DIR *dir;

	if (n == 0)
		return true;
	dir = opendir(directory);
	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		if (paths_shard_prefix(entry->d_name) == n && memcmp(entry->d_name, name, n) == 0 &&
		    (size_t)snprintf(shard, sizeof(shard), "%s/%s", directory, entry->d_name) <
			    sizeof(shard))
			/* Ignore errors: a dangling link is a missing shard. */
			landlock_allow(landlock, shard, false);
	closedir(dir);
	return true;
}

/* Allow the files of a model: the directory of its name, that of the link's target, and the other
 * shards. Returns false if the model is no file, or if memory is exhausted. */
static bool allow_model(struct landlock *landlock, const char *given)
{
	char *beside = paths_directory(given), *real = realpath(given, NULL);
	char *around = real ? paths_directory(real) : NULL;
	struct stat stat;
	const bool allowed = beside && around && lstat(real, &stat) == 0 && S_ISREG(stat.st_mode) &&
			     landlock_allow(landlock, beside, false) == 0 &&
			     landlock_allow(landlock, around, false) == 0 &&
			     allow_shards(landlock, given, beside);

	free(beside);
	free(around);
	free(real);
	return allowed;
}

/* Allow all files that a command reads. Returns false if they cannot be listed in advance. */
static bool allow_reads(struct landlock *landlock, const struct options *options,
			enum sandbox_reads reads)
{
	bool all = reads != SANDBOX_ANYTHING && !options->layer && !options->header;

	for (uint32_t i = 0; all && i < options->n_models; i++)
		if (reads == SANDBOX_TABLES)
			/* Ignore errors: the command itself reports a missing file. */
			landlock_allow(landlock, options->models[i], false);
		else
			/* The models of a configuration may lie anywhere. */
			all = !merge_option_is(options->models[i]) &&
			      allow_model(landlock, options->models[i]);
	/* LeakSanitizer opens files in /proc at the end, so builds with it are not confined. */
	if (all && !syscall_filter_is_built())
		landlock_allow(landlock, "/proc", false);
	return all;
}

static void limit_files(const struct options *options, enum sandbox_reads reads)
{
	struct landlock landlock;

	if (landlock_init(&landlock, true) == 0 && !allow_reads(&landlock, options, reads)) {
		landlock_release(&landlock);
		landlock_init(&landlock, false);
	}
	if (landlock.fd >= 0)
		landlock_enter(&landlock);
	landlock_release(&landlock);
}

static bool is_remote(const struct options *options)
{
	for (uint32_t i = 0; i < options->n_models; i++)
		if (url_is_remote(options->models[i]))
			return true;
	return false;
}

void sandbox_enter_command(const struct options *options, enum sandbox_reads reads)
{
	forbid_core_dumps();
	capabilities_keep(CAPABILITY(CAP_DAC_READ_SEARCH));
	limit_files(options, reads);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall_filter_enter(is_remote(options));
}
