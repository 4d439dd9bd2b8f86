/* SPDX-License-Identifier: MIT */
/* block_order_edit.h - the order of a model's blocks, as a user writes it: a merge of the base with
 * itself (block_order.h), which lies beneath the grafts as any merge does. */
#ifndef FS_EDIT_BLOCK_ORDER_EDIT_H
#define FS_EDIT_BLOCK_ORDER_EDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct model;

#define BLOCK_ORDER_NAME "blocks/order" /* of the file */

/* Is an order other than the base's in force? */
bool block_order_edit_is_in_force(struct model *model);

/* Put the base's blocks in the order of that line, for that user, in place of an order in force:
 * that of the base ends the merge. When *stop becomes true, it is given up; NULL: it never does.
 * Returns 0, or -errno with a line in the log and nothing changed: EINVAL the line is wrong; EBUSY
 * another merge is in force, or a graft lies on a block that another one would take the place of;
 * else as merge_edit_write(). */
int block_order_edit(struct model *model, const char *line, uid_t uid, gid_t gid,
		     const atomic_bool *stop);

/* Check the line as block_order_edit() does, and change nothing. */
int block_order_edit_judge(struct model *model, const char *line);

/* The order in force as such a line, the base's own if none is; or a comment that names the merge.
 * To free. NULL: out of memory. */
char *block_order_edit_text(struct model *model);

#endif
