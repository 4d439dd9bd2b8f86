/* SPDX-License-Identifier: MIT */
/* recover.h - what earlier mounts left in a model's layer. */
#ifndef FS_EDIT_RECOVER_H
#define FS_EDIT_RECOVER_H

#include "fs/model/model.h"

/* Take up the grafts in the layer of a model that was just opened, if it has one: what was begun is
 * finished or undone first, then metadata, grafts and adapters are put in force as they are there.
 * What cannot be is said in the log and left alone. A link into mountpoint, which may be NULL,
 * leads to the model itself. Before any other thread knows the model. Returns 0, or -errno with err
 * set: it cannot be told what all slots hold, so nothing can be shown. */
int recover(struct model *model, const char *mountpoint, struct error *err);

#endif
