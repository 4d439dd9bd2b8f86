/* SPDX-License-Identifier: MIT */
/* undo.h - undoes changes of a model in one step: grafts, removals, metadata, adapters. */
#ifndef FS_EDIT_UNDO_H
#define FS_EDIT_UNDO_H

#include "fs/layer/layer.h"

#include <stdbool.h>
#include <stddef.h>

struct model;

/* Undo the changes named by the lines of words, which is modified:
 *
 *	all		everything
 *	CLASS		organ files of that class; of adapters also links and settings
 *	metadata	all keys
 *	blocks/order	the order of the blocks
 *	CLASS/FILE	that file; metadata/KEY and adapters/FILE too, as .undo lists them
 *	NAME		the organ file of that name, with or without ".bin"
 *
 * Text after a tab and empty lines are ignored. All changes are undone in one transaction, or none.
 * Unchanged files stay so. Returns 0, or -errno with a line in the log: -EINVAL a word names
 * nothing, or the importance matrix is still needed. */
int undo(struct model *model, char *words);

/* Check that undo() would find all names in words, which is modified. Returns 0 or -errno, -EINVAL
 * with a line in the log. */
int undo_judge(struct model *model, char *words);

/* Changes to undo. */
struct undo_list {
	struct layer_undone *items; /* the list owns their names */
	size_t n, room;
	bool is_short; /* memory was lacking for some */
};
void undo_list_add(struct undo_list *list, enum layer_item item, enum organ_class klass,
		   const char *name);
void undo_list_release(struct undo_list *list);

/* Allocate the memory that undo_take_back() needs, also for slots still to be added, so that it
 * cannot fail. list is borrowed. NULL: out of memory, or the list is short. */
struct undo_ready;
struct undo_ready *undo_ready_new(const struct undo_list *list);
void undo_ready_free(struct undo_ready *ready); /* NULL is fine */

/* Restore all listed slots, keys and adapters of the model as the base has them, after the layer's
 * commit or rollback and with the commit lock held. ready can only be freed afterwards. */
void undo_take_back(struct model *model, struct undo_ready *ready);

#endif
