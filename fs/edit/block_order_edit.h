/* SPDX-License-Identifier: MIT */
/* block_order_edit.h - changes of the order of a model's blocks by a user. An order is a merge of
 * the base with itself (block_order.h), beneath the grafts like any merge. */
#ifndef FS_EDIT_BLOCK_ORDER_EDIT_H
#define FS_EDIT_BLOCK_ORDER_EDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct model;

#define BLOCK_ORDER_NAME "blocks/order" /* of the file */

/* Is an order other than the base's in force? */
bool block_order_edit_is_in_force(struct model *model);

/* Put the base's blocks in the order of line, for that user, in place of an order in force; the
 * base's own order ends the merge. Gives up when *stop becomes true; NULL: never. Returns 0, or
 * -errno with a line in the log and nothing changed: EINVAL the line is wrong; EBUSY another merge
 * is in force, or a graft is on a block that would be replaced by another; else as
 * merge_edit_write(). */
int block_order_edit(struct model *model, const char *line, uid_t uid, gid_t gid,
		     const atomic_bool *stop);

/* Check the line as block_order_edit() does, and change nothing. */
int block_order_edit_judge(struct model *model, const char *line);

/* Order in force as a line for block_order_edit(), without an order the base's; a comment if
 * another merge is in force. To free. NULL: out of memory. */
char *block_order_edit_text(struct model *model);

#endif
