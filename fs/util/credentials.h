/* SPDX-License-Identifier: MIT */
/* credentials.h - acting with the rights of the process that asked. A daemon of root must not write
 * where the user it does so for may not. */
#ifndef FS_UTIL_CREDENTIALS_H
#define FS_UTIL_CREDENTIALS_H

#include <sys/types.h>

/* Let this thread, and no other, access files as that user, without further groups. Only root can,
 * and for itself need not: otherwise this does nothing. credentials_restore() ends it. Returns 0 or
 * -errno; then nothing has changed. */
int credentials_assume(uid_t uid, gid_t gid);
void credentials_restore(void);

#endif
