/* SPDX-License-Identifier: MIT */
/* credentials.h - acting with the rights of the process that asked. A daemon of root must not write
 * where the user it does so for may not.
 *
 * 1. A thread that acts for a user has that user's file rights and no effective capability: what
 *    root's threads could do beside files, such as looking into any process by way of /proc, it
 *    cannot. The daemon's other threads keep theirs.
 * 2. Its permitted capabilities stay, so that it can have its rights back. */
#ifndef FS_UTIL_CREDENTIALS_H
#define FS_UTIL_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a thread was before it assumed a user's rights. */
struct credentials {
	bool assumed; /* false: there is nothing to restore */
	uid_t uid;
	gid_t gid;
	uint32_t effective[2];
};

/* Can this process act with the rights of any user? It has to be root's, with the capabilities to
 * change user and groups. */
bool credentials_can_assume(void);

/* Let this thread, and no other, access files as that user, without further groups and without
 * capabilities; as root, with all that it is permitted. Only root's process can: another's stays
 * what it is, which is less than root, and is refused the rights of any other user. The thread may
 * act for another user already, as does one that such a thread has started. Returns 0 or -errno;
 * then nothing has changed, and there is nothing to restore. */
int credentials_assume(uid_t uid, gid_t gid, struct credentials *before);
void credentials_restore(const struct credentials *before);

#endif
