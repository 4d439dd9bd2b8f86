/* SPDX-License-Identifier: MIT */
/* layer_origin.h - what a layer knows of a slot that is not in what fills it, as the neighbour
 * CLASS/NAME.bin.from:
 *
 *	organfs origin 1
 *	slot TENSOR     the exact name of the tensor, where the slot is none of the base's
 *
 * TENSOR is percent-encoded as in a reference. A slot that was added keeps its name whatever is put
 * into it later: an organ of another role, a link, a reference. So its name is not derived again
 * from what it holds. The file is durable before what fills the slot is renamed into place, and the
 * line says the same for as long as the slot is there, so that a crash between the two renames
 * leaves both true. */
#ifndef FS_LAYER_ORIGIN_H
#define FS_LAYER_ORIGIN_H

#include "fs/layer_internal.h"

#define ORIGIN_SUFFIX ".bin.from"

/* Write it to a new file in the stage, durably. Returns 0 or -errno; then there is none. */
int origin_write(struct layer *layer, const char *staged, const struct layer_origin *origin);

/* Read that of the slot with that name in a class. The slot's name is to be freed. False: there is
 * none, or no regular file that is one; then the slot's name is NULL. */
bool origin_read(int dir, const char *name, struct layer_origin *origin);

#endif
