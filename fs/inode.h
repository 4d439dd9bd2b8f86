/* SPDX-License-Identifier: MIT */
/* inode.h - inode numbers. What a base holds has numbers that say what it is, the same at every
 * mount, and needs no memory; what is made later gets a new number each time.
 *
 *	1			the root of the mount
 *	m << 44 | kind << 40 | index	what the base of model number m has (enum inode_kind)
 *	1 << 62 | m << 44 | n	grafts, generated files, files being written
 *	3 << 61 | m << 44 | n	the θ file of the graft with that n
 */
#ifndef FS_INODE_H
#define FS_INODE_H

#include "fs/model.h"

#define INODE_ROOT ((uint64_t)1)
#define INODE_NEW  ((uint64_t)1 << 62)

/* Turns the number of a graft into that of its θ file. */
#define INODE_OF_THETA ((uint64_t)1 << 61)

/* So many models there can be in one mount; one number more is the mount's own. */
#define INODE_MODELS 65535u

enum inode_kind {
	INODE_MODEL = 1,      /* the directory of a model, where there are several */
	INODE_CLASS = 2,      /* index: enum organ_class */
	INODE_ORGAN = 3,      /* index: tensor; an organ as the base has it */
	INODE_THETA = 4,      /* index: tensor; the θ file of such an organ */
	INODE_BASE = 5,	      /* the directory .base */
	INODE_BASE_CLASS = 6, /* index: enum organ_class; in .base */
	INODE_BASE_ORGAN = 7, /* index: tensor; in .base */
	INODE_METADATA = 8,   /* the directory metadata */
	INODE_KEY = 9,	      /* index: key; as the base has it */
	INODE_BASE_METADATA = 10,
	INODE_BASE_KEY = 11, /* index: key; in .base */
	INODE_VIEWS = 12,    /* the directory .views */
};

static inline uint64_t inode_of(uint32_t model, enum inode_kind kind, uint64_t index)
{
	return (uint64_t)model << 44 | (uint64_t)kind << 40 | index;
}

/* Directories keep their numbers when another model takes the place. */
static inline uint64_t inode_of_directory(const struct model *model, enum inode_kind kind,
					  uint64_t index)
{
	return inode_of(model->first->number, kind, index);
}

/* 0: it is none of the base's. */
static inline unsigned inode_kind(uint64_t ino)
{
	return ino < INODE_NEW ? (unsigned)(ino >> 40 & 15) : 0;
}

static inline uint32_t inode_model(uint64_t ino)
{
	return (uint32_t)(ino >> 44 & 0xffff);
}

static inline uint64_t inode_index(uint64_t ino)
{
	return ino & (((uint64_t)1 << 40) - 1);
}

static inline uint64_t inode_new(struct model *model)
{
	return INODE_NEW | (uint64_t)model->number << 44 | atomic_fetch_add(&model->next_ino, 1);
}

#endif
