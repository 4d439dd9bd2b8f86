/* SPDX-License-Identifier: MIT */
/* background.h - a command that goes into the background and returns when its daemon is ready. */
#ifndef FS_UTIL_BACKGROUND_H
#define FS_UTIL_BACKGROUND_H

/* Fork, and return in a child that has a session of its own and the working directory "/". The
 * parent exits with 0 after the child's background_ready(), or with 1 if the child ends before it.
 * If the caller has blocked SIGINT and SIGTERM, the parent passes these signals to the child, waits
 * for the child's end and exits with 128 plus the number of the first signal. Other threads are not
 * in the child. Returns the descriptor for background_ready(), or -errno. */
int background_begin(void);

/* Redirect the standard descriptors to /dev/null and let the waiting parent exit with 0. */
void background_ready(int waiting);

#endif
