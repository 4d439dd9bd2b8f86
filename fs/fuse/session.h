/* SPDX-License-Identifier: MIT */
/* session.h - a mount from its start to its end. */
#ifndef FS_FUSE_SESSION_H
#define FS_FUSE_SESSION_H

struct models;
struct unmount_status;

/* Mount the models, daemonise unless told otherwise, answer requests until the unmount or a signal,
 * and assemble the grafted models (unmount.h). status, which is borrowed, records the course of the
 * unmount. When daemonising, the parent exits with 0 once the mount is ready; the function returns
 * in the daemon. Returns the exit code of the process: 0; 1 with a line on stderr or in the log; 2
 * if all is written, but .check calls a new model impossible. */
int session_run(struct models *models, struct unmount_status *status);

#endif
