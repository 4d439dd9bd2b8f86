/* SPDX-License-Identifier: MIT */
/* expert_edit.h - what a user may do to one expert of a stack. The slot then holds a stack of its
 * own, a graft like any other. */
#ifndef FS_EDIT_EXPERT_EDIT_H
#define FS_EDIT_EXPERT_EDIT_H

#include <stdint.h>

struct model;
struct stage;

/* Put what is staged in the place of one expert of the slot, if it is an organ of the same type and
 * shape. Returns 0, or -errno with a line in the log: EINVAL it does not fit, ESTALE the slot has
 * no such expert any more, else as graft_fill(). Then the slot keeps what it has. */
int expert_edit_put(struct model *model, uint32_t tensor, uint32_t expert, struct stage *stage);

/* Put the slot's experts in the order that is staged: their numbers as they are now, between blanks
 * or line breaks. One that is not named goes, one that is named twice is there twice. Returns as
 * expert_edit_put(). */
int expert_edit_reorder(struct model *model, uint32_t tensor, struct stage *stage);

#endif
