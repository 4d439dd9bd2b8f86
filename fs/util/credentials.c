/* SPDX-License-Identifier: MIT */
/* credentials.c - see credentials.h. The system calls are made directly: the C library's
 * setgroups() changes all threads. A thread that assumed a user's rights is one that acts for
 * requests and nothing else, so that its groups need not come back: root needs none. */
#include "fs/util/credentials.h"
#include "fs/util/capabilities.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Make those effective of the permitted ones; NULL: all. Returns 0 or -errno. */
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

/* These calls tell no failure but by the value that is then in force. Where the user is no longer
 * root, the kernel takes the capabilities that are about files from the effective ones; the others
 * stay. */
static int set_files(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -EPERM;
}

/* Needs the capabilities for it. */
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
