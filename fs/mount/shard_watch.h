/* SPDX-License-Identifier: MIT */
/* arrivals.h - shards that come, or go, while their model is mounted. */
#ifndef FS_ARRIVALS_H
#define FS_ARRIVALS_H

#include <stdbool.h>

struct fs;

/* Look whether the shards of models that lack some are still those that were there. Where they are
 * not, another model takes the place. May take as long as reading their headers does.
 *
 * Shards of which no model could be made are not tried again before there are others; with again
 * set they are, for what stood in the way may be gone. */
void arrivals_look(struct fs *fs, bool again);

#endif
