/* SPDX-License-Identifier: MIT */
/* announce.h - what the user is told of a model when its mount begins. */
#ifndef FS_MOUNT_ANNOUNCE_H
#define FS_MOUNT_ANNOUNCE_H

#include "fs/mount/models.h"

/* Say in the log, and on standard error, what of earlier mounts is in the model: how many grafts
 * and from when; or that there are some which it does not take up. Of the grafts in a directory
 * that the user named, only the log tells. Where nothing can be written beside the base that the
 * mount would write there, say so too. To be called before the mount is there: what is looked at
 * may lie where it comes. */
void announce(const struct models *models);

/* The same of the grafts of a model that takes another's place. */
void announce_grafts(struct model *model, const struct options *options);

#endif
