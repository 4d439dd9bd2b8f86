/* SPDX-License-Identifier: MIT */
/* noassemble.c - see noassemble.h. */
#include "mount-helpers/noassemble.h"
#include "fs/util/mount_child.h"
#include "fs/util/mountinfo.h"

#include <string.h>
#include <sys/xattr.h>

#define ATTRIBUTE   "user.organfs.noassemble"
#define PATIENCE_MS 10000

static int set(int socket, const void *context)
{
	(void)socket;
	(void)context;
	/* An older daemon accepts every attribute user.organfs.*, but does not list this one. */
	return setxattr(".", ATTRIBUTE, "1", 1, XATTR_CREATE) == 0 &&
			       getxattr(".", ATTRIBUTE, NULL, 0) >= 0
		       ? 0
		       : errno;
}

static int unset(int socket, const void *context)
{
	(void)socket;
	(void)context;
	return removexattr(".", ATTRIBUTE) == 0 ? 0 : errno;
}

static int ask(const struct mountinfo *mount, mount_child_job *job)
{
	struct mount_child child;

	mount_child_begin(&child, mount, PATIENCE_MS, job, NULL);
	return mount_child_end(&child);
}

/* Was it mounted read-only? A later remount would be unknown to the daemon. */
static bool is_read_only(const struct mountinfo *mount)
{
	return strncmp(mount->options, "ro,", 3) == 0;
}

int noassemble_set(const struct mountinfo *mount)
{
	int rc;

	if (is_read_only(mount))
		return 0;
	rc = ask(mount, set);
	if (rc == 0)
		return 1;
	return rc == EEXIST || mount_child_is_dead(rc) ? 0 : -rc;
}

void noassemble_clear(const struct mountinfo *mount)
{
	ask(mount, unset);
}
