/* SPDX-License-Identifier: MIT */
/* block_names.h - the slots of a block, and their names in the directory blocks/N: those of
 * CLASS/blk_N_NAME.bin are NAME. Other kinds of blocks, as those of an encoder or of a diffusion
 * model, and numbers above INODE_BLOCK_NUMBER have no such directory. */
#ifndef FS_MODEL_BLOCK_NAMES_H
#define FS_MODEL_BLOCK_NAMES_H

#include "gguf/anatomy.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct model;
struct organ_place;

/* NAME of a slot, without ".bin"; borrowed. NULL: it is in no block that has a directory. */
const char *block_name(const struct organ_place *place);

/* Holds a slot of that block anything? */
bool block_is_there(struct model *model, uint32_t block);

/* The first block from that number on of which a slot holds anything; -1: none. */
int64_t block_next(struct model *model, uint32_t from);

/* How many blocks the base has, up to the highest that has a directory. */
uint32_t block_count_of_base(const struct model *model);

/* The class and the file name of blocks/BLOCK/FILE: of an organ or θ file "NAME.bin" the slot's, or
 * as other blocks have NAME, or as the tensor's name would have it; of any other file a private one
 * of the class other, of the same kind: ".NAME.bin.a8Bz1q" is ".blk_7_NAME.bin.a8Bz1q". False: the
 * name would be too long. */
bool block_class_name(struct model *model, uint32_t block, const char *file,
		      enum organ_class *klass, char name[NAME_MAX + 1]);

#endif
