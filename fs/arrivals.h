/* SPDX-License-Identifier: MIT */
/* arrivals.h - shards that come, or go, while their model is mounted. */
#ifndef FS_ARRIVALS_H
#define FS_ARRIVALS_H

struct fs;

/* Look whether the shards of models that lack some are still those that were there. Where they are
 * not, another model takes the place. May take as long as reading their headers does. */
void arrivals_look(struct fs *fs);

#endif
