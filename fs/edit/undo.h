/* SPDX-License-Identifier: MIT */
/* undo.h - changes of a model undone in one step: grafts, removals, metadata, adapters. */
#ifndef FS_EDIT_UNDO_H
#define FS_EDIT_UNDO_H

#include "fs/layer/layer.h"

#include <stdbool.h>
#include <stddef.h>

struct model;

/* Undo what the lines of words say, which is cut to pieces:
 *
 *	all		everything
 *	CLASS		organ files of that class; of adapters also links and settings
 *	metadata	all keys
 *	blocks/order	the order of the blocks
 *	CLASS/FILE	that file; metadata/KEY and adapters/FILE too, as .undo has them
 *	NAME		the organ file of that name, with or without ".bin"
 *
 * What stands behind a tab is not looked at, and empty lines say nothing. All of it is undone, also
 * after a crash, or nothing. Content that is as in the base stays so. Returns 0, or -errno with a
 * line in the log: -EINVAL there is no such thing, or the importance matrix is still needed. */
int undo(struct model *model, char *words);

/* Check that undo() would find all that the words name; they are cut to pieces. Returns 0 or
 * -errno, -EINVAL with a line in the log. */
int undo_judge(struct model *model, char *words);

/* Changes to take back. */
struct undo_list {
	struct layer_undone *items; /* with names of their own */
	size_t n, room;
	bool is_short; /* there was no memory for one */
};
void undo_list_add(struct undo_list *list, enum layer_item item, enum organ_class klass,
		   const char *name);
void undo_list_release(struct undo_list *list);

/* The memory that undo_take_back() needs, also for slots that are still to be added, so that it
 * cannot fail. list is borrowed. NULL: out of memory, or the list is short. */
struct undo_ready;
struct undo_ready *undo_ready_new(const struct undo_list *list);
void undo_ready_free(struct undo_ready *ready); /* NULL is fine */

/* With the commit lock held: in the model, all that is listed is as the base has it. The layer says
 * so already. ready is used up but for freeing. */
void undo_take_back(struct model *model, struct undo_ready *ready);

#endif
