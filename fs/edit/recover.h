/* SPDX-License-Identifier: MIT */
/* recover.h - what earlier mounts left in a model's layer. */
#ifndef FS_EDIT_RECOVER_H
#define FS_EDIT_RECOVER_H

struct error;
struct model;

/* Take up the grafts in the layer of a model that was just opened, if it has one: what was begun is
 * finished or undone first, then metadata, grafts and adapters are put in force as they are there.
 * What cannot be is said in the log and left alone, and an organ that cannot be read is broken. A
 * link into mountpoint, which may be NULL, leads to the model itself. Before any other thread knows
 * the model. Returns 0, or -errno with err set: a directory of the layer cannot be listed, or a
 * file but an organ cannot be read now (layer_is_unread()), so that what would be shown is another
 * model. */
int recover(struct model *model, const char *mountpoint, struct error *err);

#endif
