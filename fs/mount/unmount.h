/* SPDX-License-Identifier: MIT */
/* unmount.h - the end of a mount: what was grafted is written down, unless a signal says no. */
#ifndef FS_MOUNT_UNMOUNT_H
#define FS_MOUNT_UNMOUNT_H

#include <stdbool.h>

struct mount;
struct unmount_status;

/* Keep SIGHUP, SIGINT and SIGTERM for unmount_finish(), and for who takes them before: blocked from
 * now on, in this thread and those that it makes. */
void unmount_block_signals(void);

/* The mount is gone: wait for the grafts and assemblies that still run, as mount_drain() does, and
 * write: assemble each model's grafts and drop its layer. SIGHUP, SIGINT or SIGTERM cancels what is
 * not yet written; then, as after any failure, the grafts are kept, the target is as it was, and
 * log and status say where. status is told how far it is. Returns 0, -EIO if anything was not
 * written, or else 1 if a model is written that .check calls impossible, which status says. */
int unmount_finish(struct mount *fs, bool write, struct unmount_status *status);

#endif
