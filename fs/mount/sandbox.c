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

/* For users: their files, with their rights. To find what a process copies from, its descriptors
 * are looked at in /proc, and its working directory where it names a file: those of a process that
 * has more capabilities than this one take CAP_SYS_PTRACE. */
#define FOR_USERS                                                                           \
	(CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_DAC_OVERRIDE) |   \
	 CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_CHOWN) | \
	 CAPABILITY(CAP_SYS_PTRACE))

/* For mount(2), and then for files that the kernel reads by itself (fs/fuse/passthrough.h). */
#define FOR_MOUNTS CAPABILITY(CAP_SYS_ADMIN)

/* How long another thread may take to end. */
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

/* umount opens the daemon's status in /proc (unmount_status.h): of a user with no right but that of
 * owning the process, of root with CAP_SYS_PTRACE, which in a container neither root nor this
 * process has. */
static void hide_memory(void)
{
	if (geteuid() == 0 && capabilities_have(CAP_SYS_PTRACE) && syscall_filter_is_built())
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Is this thread the only one? Those that looked at paths may be about to end. */
static bool is_alone(void)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct stat stat;

	/* Each is a directory, which links back to this one. */
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
		log_add(log, "CAP_SYS_ADMIN cannot be given away");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_add(log, "new privileges cannot be given away: %s", strerror(errno));
	rc = syscall_filter_enter(remote);
	if (rc < 0)
		log_add(log, "all system calls are left to the daemon: there is no filter: %s",
			strerror(-rc));
	return 0;
}

/* Shards beside the one at path, each of which may be a link to another directory. False: they
 * cannot be told. */
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
			/* A link that leads nowhere is a shard that is missing. */
			landlock_allow(landlock, shard, false);
	closedir(dir);
	return true;
}

/* The directories of a model that is one file: those of its name, and of what that links to; and
 * the other shards. False: it is none, or out of memory. */
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

/* Name all that is read. False: that cannot be told. */
static bool allow_reads(struct landlock *landlock, const struct options *options,
			enum sandbox_reads reads)
{
	bool all = reads != SANDBOX_ANYTHING && !options->layer && !options->header;

	for (uint32_t i = 0; all && i < options->n_models; i++)
		if (reads == SANDBOX_TABLES)
			/* What is not there is an error that the command tells of. */
			landlock_allow(landlock, options->models[i], false);
		else
			/* A configuration names models that may lie anywhere. */
			all = !merge_option_is(options->models[i]) &&
			      allow_model(landlock, options->models[i]);
	/* A sanitizer looks for what was lost in the memory of its own process. */
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
