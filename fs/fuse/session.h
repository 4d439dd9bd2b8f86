/* SPDX-License-Identifier: MIT */
/* session.h - a mount from its beginning to its end. */
#ifndef FS_FUSE_SESSION_H
#define FS_FUSE_SESSION_H

struct models;
struct unmount_status;

/* Mount the models, go into the background unless told otherwise, answer requests until the mount
 * is taken away or a signal comes, and assemble what was grafted (unmount.h); status, which is
 * borrowed, tells how that goes. In the background the calling process has exited with 0 when the
 * mount was ready, and this returns in another one. Returns the exit code of the process: 0, or
 * with a line on stderr or in the log 1, or 2 if all is written, but .check calls it impossible. */
int session_run(struct models *models, struct unmount_status *status);

#endif
