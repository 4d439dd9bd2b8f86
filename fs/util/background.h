/* SPDX-License-Identifier: MIT */
/* background.h - a process goes into the background, and the command returns when it is ready. */
#ifndef FS_UTIL_BACKGROUND_H
#define FS_UTIL_BACKGROUND_H

/* Go on as a child in a session of its own, whose working directory is "/", while this process
 * waits for background_ready() and exits then with 0; or with 1 where the child ends without. Where
 * the caller has blocked SIGINT and SIGTERM, what comes of them goes to the child, whose end is
 * waited for, and this process exits with 128 and the number of the first. Returns the
 * descriptor for background_ready(), or -errno. No other thread is taken along. */
int background_begin(void);

/* Let the standard descriptors be /dev/null, and the process that waits exit. */
void background_ready(int waiting);

#endif
