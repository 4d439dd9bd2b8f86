/* SPDX-License-Identifier: MIT */
/* recover.h - takes up the layer that earlier mounts of a model left. */
#ifndef FS_EDIT_RECOVER_H
#define FS_EDIT_RECOVER_H

struct error;
struct model;

/* Put the rows of a newly opened model's layer in force: keys, merge, grafts and adapters. A row
 * that cannot be put in force is named in the log and left alone; an organ that cannot be read is
 * broken. A link into mountpoint, which may be NULL, leads to the model itself. Called before
 * another thread knows the model. Returns 0, or -errno with err set if the database, or a file that
 * a row needs, cannot be read now (layer_is_unread()): the mount would show another model. */
int recover(struct model *model, const char *mountpoint, struct error *err);

#endif
