/* SPDX-License-Identifier: MIT */
/* credentials.c - see credentials.h. The system calls are made directly: the C library's
 * setgroups() changes all threads. The thread is the assemblies' own, so that its groups need not
 * come back: root needs none. */
#include "fs/util/credentials.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int credentials_assume(uid_t uid, gid_t gid)
{
	if (geteuid() != 0 || uid == 0)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return -errno;
	setfsgid(gid);
	setfsuid(uid);
	/* These calls tell no failure but by the value that is then in force. */
	if ((uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid)
		return 0;
	credentials_restore();
	return -EPERM;
}

void credentials_restore(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}
