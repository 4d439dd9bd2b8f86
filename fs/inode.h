/* SPDX-License-Identifier: MIT */
/* inode.h - inode numbers. What the base holds has numbers that say what it is, the same at every
 * mount, and needs no memory; what is made later gets a new number each time.
 *
 *	1			the root
 *	1 << 40 | class		a class directory
 *	2 << 40 | tensor	an organ as the base has it
 *	3 << 40 | tensor	the θ file of such an organ
 *	4 << 40			.base; and with 1 + class, a class in it
 *	5 << 40 | tensor	an organ in .base
 *	1 << 62 | n		grafts, generated files, files being written
 *	3 << 61 | n		the θ file of the graft with that n
 */
#ifndef FS_INODE_H
#define FS_INODE_H

#include "fs/model.h"

#define INODE_ROOT    ((uint64_t)1)
#define INODE_CLASS   ((uint64_t)1 << 40)
#define INODE_ORGAN   ((uint64_t)2 << 40)
#define INODE_THETA   ((uint64_t)3 << 40)
#define INODE_BASE    ((uint64_t)4 << 40)
#define INODE_OF_BASE ((uint64_t)5 << 40)
#define INODE_NEW     ((uint64_t)1 << 62)

/* Turns the number of a graft into that of its θ file. */
#define INODE_OF_THETA ((uint64_t)1 << 61)

static inline uint64_t inode_new(struct model *model)
{
	return INODE_NEW | atomic_fetch_add(&model->next_ino, 1);
}

static inline bool inode_is_class(uint64_t ino)
{
	return ino >= INODE_CLASS && ino < INODE_CLASS + CLASSES;
}

static inline bool inode_is_base_organ(const struct model *model, uint64_t ino)
{
	return ino >= INODE_ORGAN && ino < INODE_ORGAN + model->gguf->n_tensors;
}

static inline bool inode_is_base_class(uint64_t ino)
{
	return ino > INODE_BASE && ino <= INODE_BASE + CLASSES;
}

static inline bool inode_is_in_base(const struct model *model, uint64_t ino)
{
	return ino >= INODE_OF_BASE && ino < INODE_OF_BASE + model->gguf->n_tensors;
}

static inline bool inode_is_base_theta(const struct model *model, uint64_t ino)
{
	return ino >= INODE_THETA && ino < INODE_THETA + model->gguf->n_tensors;
}

#endif
