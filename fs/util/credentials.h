/* SPDX-License-Identifier: MIT */
/* credentials.h - acting with the rights of the process that sent a request, so that a daemon of
 * root cannot be used to write where the user may not.
 *
 * 1. A thread that acts for a user has that user's file rights and no effective capabilities: it
 *    can neither write root's files nor inspect other processes through /proc. The daemon's other
 *    threads keep their capabilities.
 * 2. The thread keeps its permitted capabilities, so that it can restore its rights. */
#ifndef FS_UTIL_CREDENTIALS_H
#define FS_UTIL_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Rights that a thread had before credentials_assume(). */
struct credentials {
	bool assumed; /* false: there is nothing to restore */
	uid_t uid;
	gid_t gid;
	uint32_t effective[2];
};

/* Can this process assume any user's rights? It has to be root with CAP_SETUID and CAP_SETGID. */
bool credentials_can_assume(void);

/* Give this thread the file rights of that user, without supplementary groups and capabilities; if
 * uid is 0, with all permitted capabilities. Other threads keep their rights. The thread may act
 * for another user already, or have inherited such rights from the thread that started it. A
 * process that does not run as root keeps its own rights: the call succeeds for uid 0 and for its
 * own user, and fails with -EPERM for all others. Returns 0 or -errno; after an error the rights
 * are unchanged and there is nothing to restore. */
int credentials_assume(uid_t uid, gid_t gid, struct credentials *before);
void credentials_restore(const struct credentials *before);

/* Does this thread act for the user of the process, not for another one? */
bool credentials_are_own(void);

#endif
