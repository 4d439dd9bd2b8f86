/* SPDX-License-Identifier: MIT */
/* unmount.h - the end of a mount: models with grafts are assembled, unless a signal cancels it. */
#ifndef FS_MOUNT_UNMOUNT_H
#define FS_MOUNT_UNMOUNT_H

#include <stdbool.h>

struct mount;
struct unmount_status;

/* Block SIGHUP, SIGINT and SIGTERM in this thread and the threads that it creates, so that
 * unmount_finish(), or the session before it, receives them with sigtimedwait(). */
void unmount_block_signals(void);

/* Finish a mount that is gone. Waits for running grafts and assemblies, as mount_drain(). If write
 * is true, it then assembles each model with grafts and deletes its layer, if private. SIGINT or
 * SIGTERM cancels the assemblies that are not done. After that, as after any failure, the grafts
 * are kept, and log and status name the layer and say whether the target is unchanged. status gets
 * the progress. Returns 0; -EIO if the grafts of a model were kept because of a failure; else 1 if
 * .check calls a written model impossible, as status says. */
int unmount_finish(struct mount *fs, bool write, struct unmount_status *status);

#endif
