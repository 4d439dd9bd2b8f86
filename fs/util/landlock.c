/* SPDX-License-Identifier: MIT */
/* landlock.c - see landlock.h. The C library has no functions for these system calls. */
#include "fs/util/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Added by versions 2, 3 and 5; older <linux/landlock.h> lack them. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Rights that a rule for a single file may contain. */
#define OF_FILES                                                        \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
/* Creation of devices, sockets and pipes is denied everywhere (NOWHERE). */
#define WRITES                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                          \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM | \
	 LANDLOCK_ACCESS_FS_REFER)
#define NOWHERE                                                         \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |  \
	 LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

int landlock_version(void)
{
	const long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
				     LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

/* The access rights that this version of Landlock knows. */
static uint64_t known(int version)
{
	uint64_t all = READS | WRITES | NOWHERE;

	if (version < 2)
		all &= ~LANDLOCK_ACCESS_FS_REFER;
	if (version < 3)
		all &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	if (version < 5)
		all &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return all;
}

int landlock_init(struct landlock *landlock, bool reads)
{
	const int version = landlock_version();
	struct landlock_ruleset_attr attributes = { .handled_access_fs = known(version) };
	long fd;

	landlock->fd = -1;
	if (!version)
		return -ENOSYS;
	if (!reads)
		attributes.handled_access_fs &= ~(uint64_t)READS;
	landlock->handled = attributes.handled_access_fs;
	fd = syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
	if (fd < 0)
		return -errno;
	landlock->fd = (int)fd;
	return 0;
}

int landlock_allow(struct landlock *landlock, const char *path, bool write)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = landlock->handled & (write ? READS | WRITES : READS),
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	struct stat stat;
	int rc = 0;

	if (rule.parent_fd < 0)
		return -errno;
	if (fstat(rule.parent_fd, &stat) < 0)
		rc = -errno;
	else if (!S_ISDIR(stat.st_mode))
		rule.allowed_access &= OF_FILES;
	/* The kernel rejects a rule without access rights. */
	if (rc == 0 && rule.allowed_access &&
	    syscall(SYS_landlock_add_rule, landlock->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		rc = -errno;
	close(rule.parent_fd);
	return rc;
}

int landlock_enter(const struct landlock *landlock)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, landlock->fd, 0) < 0 ? -errno : 0;
}

void landlock_release(struct landlock *landlock)
{
	if (landlock->fd >= 0)
		close(landlock->fd);
	landlock->fd = -1;
}
