/* SPDX-License-Identifier: MIT */
/* shard_watch.h - shards that come, or go, while their model is mounted. */
#ifndef FS_MOUNT_SHARD_WATCH_H
#define FS_MOUNT_SHARD_WATCH_H

#include <stdbool.h>

struct mount;

/* Look whether the shards of models that lack some are still those that were there. Where they are
 * not, another model takes the place. May take as long as reading their headers does.
 *
 * Shards of which no model could be made are not tried again before there are others; with again
 * set they are, for what stood in the way may be gone. */
void shard_watch_check(struct mount *fs, bool again);

#endif
