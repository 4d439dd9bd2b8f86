/* SPDX-License-Identifier: MIT */
/* credentials.c - see credentials.h. The system calls are made directly, because the C library's
 * setgroups() changes all threads. credentials_restore() does not restore the supplementary groups:
 * only threads that serve requests assume rights, and root needs no groups. */
#include "fs/util/credentials.h"
#include "fs/util/capabilities.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Make these permitted capabilities effective; NULL: all permitted ones. Returns 0 or -errno. */
static int set_effective(const uint32_t *effective)
{
	struct __user_cap_data_struct sets[CAPABILITY_WORDS];
	const int rc = capabilities_get(sets);

	if (rc < 0)
		return rc;
	for (int i = 0; i < CAPABILITY_WORDS; i++)
		sets[i].effective = sets[i].permitted & (effective ? effective[i] : ~0U);
	return capabilities_set(sets);
}

bool credentials_can_assume(void)
{
	const uint32_t needed = CAP_TO_MASK(CAP_SETUID) | CAP_TO_MASK(CAP_SETGID);
	struct __user_cap_data_struct sets[CAPABILITY_WORDS];

	return geteuid() == 0 && capabilities_get(sets) == 0 &&
	       (sets[0].effective & needed) == needed;
}

/* setfsuid() and setfsgid() return no error; a second call shows the value in force. When the user
 * ceases to be root, the kernel removes the capabilities about files from the effective set;
 * become() removes the others. */
static int set_files(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -EPERM;
}

/* Needs CAP_SETUID and CAP_SETGID in effect. */
static int become(uid_t uid, gid_t gid)
{
	static const uint32_t none[CAPABILITY_WORDS];
	int rc;

	if (uid != 0 && syscall(SYS_setgroups, 0, NULL) < 0)
		return -errno;
	rc = set_files(uid, gid);
	return rc < 0 ? rc : set_effective(uid == 0 ? NULL : none);
}

int credentials_assume(uid_t uid, gid_t gid, struct credentials *before)
{
	struct __user_cap_data_struct sets[CAPABILITY_WORDS];
	int rc;

	before->assumed = false;
	before->uid = (uid_t)setfsuid((uid_t)-1);
	before->gid = (gid_t)setfsgid((gid_t)-1);
	if (geteuid() != 0)
		return uid == 0 || uid == geteuid() ? 0 : -EPERM;
	if (uid == 0 && before->uid == 0)
		return 0;
	rc = capabilities_get(sets);
	if (rc < 0)
		return rc;
	for (int i = 0; i < CAPABILITY_WORDS; i++)
		before->effective[i] = sets[i].effective;
	rc = set_effective(NULL);
	if (rc == 0)
		rc = become(uid, gid);
	before->assumed = true;
	if (rc == 0)
		return 0;
	credentials_restore(before);
	before->assumed = false;
	return rc;
}

void credentials_restore(const struct credentials *before)
{
	if (!before->assumed)
		return;
	set_effective(NULL);
	set_files(before->uid, before->gid);
	set_effective(before->effective);
}

bool credentials_are_own(void)
{
	return (uid_t)setfsuid((uid_t)-1) == geteuid();
}
