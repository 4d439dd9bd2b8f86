/* SPDX-License-Identifier: MIT */
/* inodes.h - inodes by the numbers that the kernel holds. An inode's content is immutable, except
 * that of a file being written, which only its writer knows.
 *
 * Files of the base need no entry, because their numbers encode them (inode.h). All other inodes
 * are kept while the kernel knows them or a caller holds them. */
#ifndef FS_TREE_INODES_H
#define FS_TREE_INODES_H

#include "fs/tree/families.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct donor;

struct inode {
	uint64_t ino;
	enum family_number family;
	uint32_t index, part;
	struct model *model; /* owner; NULL: the mount */
	struct content *content;
	struct metadata_entry *metadatum;
	struct view *view;
	struct stage *stage;
	struct timespec mtime;
	/* Owned and protected by the table: */
	bool listed;
	uint64_t refs; /* the kernel's lookups and references of callers */
	struct inode *next;
};

struct inodes; /* any thread may use it */

/* New table for n models, ordered by their numbers; borrowed. several: the root of the mount has a
 * directory for each model, else it is the only model's. NULL: out of memory. */
struct inodes *inodes_new(struct model *const *models, uint32_t n, bool several);
/* Set the number of models. */
void inodes_set_models(struct inodes *inodes, uint32_t n);

void inodes_free(struct inodes *inodes); /* frees all inodes, also those that the kernel knows */

/* Inode with that number, to release with inodes_put(). NULL: there is none. */
struct inode *inodes_get(struct inodes *inodes, uint64_t ino);

/* Enter a copy of *made, whose content, metadatum, view and stage become the inode's, also on
 * failure. To release with inodes_put(). NULL: out of memory. */
struct inode *inodes_add(struct inodes *inodes, const struct inode *made);

/* Inode of an organ's current state, or of its θ file, by family; a table entry if the slot has a
 * graft. NULL with *rc set: -ENOENT the slot is empty, -ENOMEM. */
struct inode *inodes_organ(struct inodes *inodes, enum family_number family, struct model *model,
			   uint32_t tensor, int *rc);

/* Inode computed from an organ's current state: FAMILY_FORMED or FAMILY_EXPERT, with its part. NULL
 * with *rc set as for inodes_organ(); -ENOENT also if the organ has no such part. */
struct inode *inodes_computed(struct inodes *inodes, enum family_number family, struct model *model,
			      uint32_t tensor, uint32_t part, int *rc);

/* Number of that inode if the slot has that content. */
uint64_t inodes_computed_ino(struct model *model, enum family_number family, uint32_t tensor,
			     uint32_t part, struct content *content);

/* Number of an organ's inode, or its θ file's, if the slot has that content. */
uint64_t inodes_organ_ino(const struct model *model, enum family_number family, uint32_t tensor,
			  const struct content *content);

/* Inode of a key's current state. NULL with *rc set: -ENOENT the key has no value, -ENOMEM. */
struct inode *inodes_key(struct inodes *inodes, struct model *model, uint32_t i, int *rc);

/* Value that an inode of FAMILY_KEY or FAMILY_BASE_KEY shows, to release. NULL: out of memory. */
struct metadata_entry *inodes_metadatum(const struct inode *inode);

/* Number of a model's root directory. */
uint64_t inodes_root_ino(const struct inodes *inodes, const struct model *model);

/* New number for a file of the model; NULL: of the mount. */
uint64_t inodes_new_ino(struct inodes *inodes, struct model *model);

/* Count a lookup answered to the kernel; the kernel forgets each one. */
void inodes_count_lookup(struct inodes *inodes, struct inode *inode);
void inodes_forget(struct inodes *inodes, uint64_t ino, uint64_t times);

void inodes_put(struct inodes *inodes, struct inode *inode); /* NULL is fine */

/* Donor of the organ with that inode number, for write_source.h; NULL: no organ. inodes is a struct
 * inodes. Sets *size to the file's size in bytes. */
struct donor *inodes_donor(void *inodes, uint64_t ino, uint64_t *size);

#endif
