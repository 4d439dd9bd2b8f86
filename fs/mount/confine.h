/* SPDX-License-Identifier: MIT */
/* confine.h - the directories that a mount with -o confine may write to. */
#ifndef FS_MOUNT_CONFINE_H
#define FS_MOUNT_CONFINE_H

struct error;
struct landlock;
struct models;

/* Make the Landlock ruleset of the mount. It allows to read all files, and to write to the
 * directories of the models' layers, the directories that the unmount writes to, and /dev/null;
 * with ro only to /dev/null. The directory of private layers is created if it is missing. Returns
 * 0, or -errno with err set. The caller calls landlock_release(), also after an error. */
int confine_prepare(struct landlock *landlock, const struct models *models, struct error *err);

#endif
