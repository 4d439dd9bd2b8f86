/* SPDX-License-Identifier: MIT */
/* inode.h - inode numbers. A file of the base has a number computed from its kind and index, equal
 * at every mount, and needs no memory; a file made later gets a new number each time.
 *
 *	1			the root of the mount
 *	m << 44 | kind << 40 | index	files of the base of model number m (enum inode_kind)
 *	1 << 62 | m << 44 | n	grafts, generated files, files being written; with n below
 *				INODE_FIRST generated files of a model that has no graft yet
 *	3 << 61 | m << 44 | n	the θ file of the graft with that n
 */
#ifndef FS_MODEL_INODE_H
#define FS_MODEL_INODE_H

#include "fs/model/model.h"
#include "fs/model/slots.h"

#define INODE_ROOT ((uint64_t)1)
#define INODE_NEW  ((uint64_t)1 << 62)

#define INODE_FIRST ((uint64_t)64)

/* Bit that turns a graft's number into that of its θ file. */
#define INODE_OF_THETA ((uint64_t)1 << 61)

/* Maximal number of models in one mount; the next number is the mount's own. */
#define INODE_MODELS 65535u

enum inode_kind {
	INODE_MODEL = 1, /* the directory of a model, if there are several */
	INODE_CLASS = 2, /* index: enum organ_class */
	INODE_ORGAN = 3, /* index: tensor; an organ of the base */
	INODE_THETA = 4, /* index: tensor; the θ file of an organ of the base */
	INODE_BASE = 5,	 /* the directory .base; index INODE_DIFFS: .diff, INODE_BLOCKS: blocks */
	INODE_BASE_CLASS = 6, /* index: enum organ_class; in .base */
	INODE_BASE_ORGAN = 7, /* index: tensor; in .base; INODE_BASE_THETA | tensor: its θ file */
	INODE_METADATA = 8,   /* the directory metadata */
	INODE_KEY = 9,	      /* index: key of the base */
	INODE_BASE_METADATA = 10,
	INODE_BASE_KEY = 11, /* index: key; in .base */
	INODE_VIEWS = 12,    /* the directory .views; index INODE_SHARDS: .views/shards */
	INODE_VIEW_DIR =
		13, /* index: form << 8 | number of a directory in it (inode_of_view_dir()) */
	INODE_VIEW_FILE = 14, /* index: form << 32 | tensor */
	INODE_EXPERT = 15,    /* index: tensor << 16 | number of the expert, or INODE_ORDER */
};

#define INODE_BASE_THETA ((uint64_t)1 << 32)

#define INODE_DIFFS  ((uint64_t)1)
#define INODE_BLOCKS ((uint64_t)2)
#define INODE_SHARDS ((uint64_t)1)

/* Flag of a block directory; the low bits are the block's number, shifted above them is one more
 * than the number of a directory within it. */
#define INODE_BLOCK	   ((uint64_t)1 << 39)
#define INODE_BLOCK_SHIFT  19
#define INODE_BLOCK_NUMBER ((1u << INODE_BLOCK_SHIFT) - 2) /* the highest */

/* In place of an expert's number: the file with the order of the experts. */
#define INODE_ORDER 0xffffu

/* Tensors with a number from here on show no experts. */
#define INODE_EXPERT_TENSORS ((uint32_t)1 << 24)

static inline uint64_t inode_of(uint32_t model, enum inode_kind kind, uint64_t index)
{
	return (uint64_t)model << 44 | (uint64_t)kind << 40 | index;
}

/* Directories keep their numbers when another model takes the place of the first. */
static inline uint64_t inode_of_directory(const struct model *model, enum inode_kind kind,
					  uint64_t index)
{
	return inode_of(model->first->number, kind, index);
}

/* Directory of a block. inner: 0 for the directory itself, else one more than the number that names
 * a directory within it. */
static inline uint64_t inode_of_block(const struct model *model, uint32_t block, uint32_t inner)
{
	return inode_of_directory(model, INODE_BASE,
				  INODE_BLOCK | (uint64_t)inner << INODE_BLOCK_SHIFT | block);
}

/* Directory of a form; below: the class directories within it. */
static inline uint64_t inode_of_view_dir(const struct model *model, uint32_t form)
{
	return inode_of_directory(model, INODE_VIEW_DIR, (uint64_t)form << 8);
}

static inline uint64_t inode_of_view_class_dir(const struct model *model, uint32_t form,
					       enum organ_class klass)
{
	return inode_of_directory(model, INODE_VIEW_DIR, (uint64_t)form << 8 | (klass + 1u));
}

/* A tensor in a form: a file, or the directory of its experts. */
static inline uint64_t inode_of_view_file(const struct model *model, uint32_t form, uint32_t tensor)
{
	return inode_of(model->number, INODE_VIEW_FILE, (uint64_t)form << 32 | tensor);
}

static inline uint64_t inode_of_expert(const struct model *model, uint32_t tensor, uint32_t expert)
{
	return inode_of(model->number, INODE_EXPERT, (uint64_t)tensor << 16 | expert);
}

/* enum inode_kind; 0: no file of the base. */
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

/* First of n constant numbers for files generated from a graft. */
static inline uint64_t inode_of_generated(struct model *model, struct content *content, uint32_t n)
{
	uint64_t first = atomic_load(&content->generated_ino), none = 0;

	if (first == 0) {
		first = INODE_NEW | (uint64_t)model->number << 44 |
			atomic_fetch_add(&model->next_ino, n);
		if (!atomic_compare_exchange_strong(&content->generated_ino, &none, first))
			first = none;
	}
	return first;
}

#endif
