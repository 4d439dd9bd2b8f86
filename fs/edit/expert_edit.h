/* SPDX-License-Identifier: MIT */
/* expert_edit.h - changes of the experts of a stack by a user. The slot then holds a whole stack as
 * a graft. */
#ifndef FS_EDIT_EXPERT_EDIT_H
#define FS_EDIT_EXPERT_EDIT_H

#include <stdint.h>

struct model;
struct stage;

/* Replace one expert of the slot by the staged organ, which must have the expert's type and shape.
 * Returns 0, or -errno with a line in the log and the slot unchanged: EINVAL the organ does not
 * fit, ESTALE the slot has no such expert any more, else as graft_fill(). */
int expert_edit_put(struct model *model, uint32_t tensor, uint32_t expert, struct stage *stage);

/* Reorder the slot's experts by the staged text: their current numbers, separated by blanks or line
 * breaks. An expert that is not named is removed, one named twice is duplicated. Returns as
 * expert_edit_put(). */
int expert_edit_reorder(struct model *model, uint32_t tensor, struct stage *stage);

#endif
