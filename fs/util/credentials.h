/* SPDX-License-Identifier: MIT */
/* caller.h - acting with the rights of whoever asked. A daemon of root must not write where the
 * user it does so for may not. */
#ifndef FS_CALLER_H
#define FS_CALLER_H

#include <sys/types.h>

/* Let this thread, and no other, access files as that user, without further groups. Only root can,
 * and for itself need not: otherwise this does nothing. caller_restore() ends it. Returns 0 or
 * -errno; then nothing has changed. */
int caller_assume(uid_t uid, gid_t gid);
void caller_restore(void);

#endif
