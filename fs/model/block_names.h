/* SPDX-License-Identifier: MIT */
/* block_names.h - slots by block. In the directory blocks/N, the slot CLASS/blk_N_NAME.bin is named
 * NAME.bin. Other kinds of blocks (of encoders or diffusion models) and numbers above
 * INODE_BLOCK_NUMBER have no such directory. */
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

/* Does any slot of that block hold a tensor? */
bool block_is_there(struct model *model, uint32_t block);

/* First block, from that number on, with a slot that holds a tensor; -1: none. */
int64_t block_next(struct model *model, uint32_t from);

/* Number of blocks of the base, up to the highest with a directory. */
uint32_t block_count_of_base(const struct model *model);

/* Class and file name for blocks/BLOCK/FILE. For an organ or θ file NAME.bin the class is the
 * slot's, else that of NAME in other blocks, else derived from the name. Other files are private
 * files of class other: ".NAME.bin.a8Bz1q" becomes ".blk_7_NAME.bin.a8Bz1q". False: the name would
 * be too long. */
bool block_class_name(struct model *model, uint32_t block, const char *file,
		      enum organ_class *klass, char name[NAME_MAX + 1]);

#endif
