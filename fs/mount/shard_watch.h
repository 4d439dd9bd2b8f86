/* SPDX-License-Identifier: MIT */
/* shard_watch.h - shards that appear or disappear while their model is mounted. */
#ifndef FS_MOUNT_SHARD_WATCH_H
#define FS_MOUNT_SHARD_WATCH_H

#include <stdbool.h>

struct mount;

/* Check the shards of each model that lacks some. If they have changed, a model opened from the new
 * shards replaces the old one. Takes as long as reading the shards' headers.
 *
 * Shards that could not be opened as a model are tried again only once they have changed, or with
 * again set, since the reason of the failure may be gone. */
void shard_watch_check(struct mount *fs, bool again);

#endif
