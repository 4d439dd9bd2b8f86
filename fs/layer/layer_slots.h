/* SPDX-License-Identifier: MIT */
/* layer_slots.h - rows of the table slot, within a transaction. All return 0 or -errno. */
#ifndef FS_LAYER_LAYER_SLOTS_H
#define FS_LAYER_LAYER_SLOTS_H

#include "gguf/anatomy.h"

struct database;
struct layer;
struct layer_left;

/* The layer says nothing of the slot any more. */
int layer_delete_slot(struct layer *layer, struct database *database, enum organ_class klass,
		      const char *name);

/* The slot that was moved is emptied; NULL: none was. */
int layer_leave_slot(struct layer *layer, struct database *database, const struct layer_left *left);

#endif
