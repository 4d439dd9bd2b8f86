/* SPDX-License-Identifier: MIT */
/* graft.h - what a user may do to a slot. The order is: checked, durable, visible, answered. */
#ifndef FS_GRAFT_H
#define FS_GRAFT_H

#include "fs/model.h"
#include "fs/stage.h"

/* Fill the slot with what is staged, if it is an organ that fits. Returns 0, or -errno with a line
 * in the log: EINVAL it does not fit, else what the disk said. Then the slot keeps what it has. */
int graft_fill(struct model *model, uint32_t tensor, struct stage *stage);

/* Put in force what the model's layer holds from an earlier mount. */
void graft_take_up(struct model *model);

#endif
