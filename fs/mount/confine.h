/* SPDX-License-Identifier: MIT */
/* confine.h - the directories that are left to a mount with -o confine. */
#ifndef FS_MOUNT_CONFINE_H
#define FS_MOUNT_CONFINE_H

struct error;
struct landlock;
struct models;

/* Make the ruleset: what the models' layers are in, the directories that the unmount writes to, and
 * /dev/null can be written to, and all can be read; with ro nothing but /dev/null can be written
 * to. The directory of private layers is made where it is not there. Returns 0, or -errno with err
 * set. Release with landlock_release() either way. */
int confine_prepare(struct landlock *landlock, const struct models *models, struct error *err);

#endif
