/* SPDX-License-Identifier: MIT */
/* inodes.h - inodes: what a number that the kernel holds stands for. The content of an inode never
 * changes, except that of a file being written, which only its writer knows.
 *
 * What the base has needs no entry here: its numbers say what they are (inode.h). Everything else
 * is kept as long as the kernel knows it or a caller holds it. */
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
	struct model *model; /* whose; NULL: the mount's */
	struct content *content;
	struct metadata_entry *metadatum;
	struct view *view;
	struct stage *stage;
	struct timespec mtime;
	/* Of the table, which protects them. */
	bool listed;
	uint64_t refs; /* the kernel's lookups and ours */
	struct inode *next;
};

struct inodes; /* any thread may use it */

/* The inodes of a mount of n models, whose numbers are their places; borrowed. The root of the
 * mount is that of the only model, or with several holds a directory for each. NULL: out of
 * memory. */
struct inodes *inodes_new(struct model *const *models, uint32_t n, bool several);
/* There are n models by now. */
void inodes_set_models(struct inodes *inodes, uint32_t n);

void inodes_free(struct inodes *inodes); /* with every inode that the kernel still knew */

/* The inode with that number, to release with inodes_put(). NULL: there is none. */
struct inode *inodes_get(struct inodes *inodes, uint64_t ino);

/* Enter an inode like *made, whose content, metadatum, view and stage become the inode's, also on
 * failure. To release with inodes_put(). NULL: out of memory. */
struct inode *inodes_add(struct inodes *inodes, const struct inode *made);

/* The inode of an organ as it is now, or of its θ file, as family says: an entry where the slot
 * holds a graft. NULL with *rc set: -ENOENT the slot holds nothing, -ENOMEM. */
struct inode *inodes_organ(struct inodes *inodes, enum family_number family, struct model *model,
			   uint32_t tensor, int *rc);

/* The inode of something that is made of an organ as it is now: FAMILY_FORMED or FAMILY_EXPERT,
 * with its part. NULL with *rc set, as above, or if the organ has no such thing. */
struct inode *inodes_computed(struct inodes *inodes, enum family_number family, struct model *model,
			      uint32_t tensor, uint32_t part, int *rc);

/* Its number, with that content in the slot. */
uint64_t inodes_computed_ino(struct model *model, enum family_number family, uint32_t tensor,
			     uint32_t part, struct content *content);

/* The number of an organ, or of its θ file, with that content in the slot. */
uint64_t inodes_organ_ino(const struct model *model, enum family_number family, uint32_t tensor,
			  const struct content *content);

/* The inode of a metadata key as it is now. NULL with *rc set: -ENOENT it has no value, -ENOMEM. */
struct inode *inodes_key(struct inodes *inodes, struct model *model, uint32_t i, int *rc);

/* The value that an inode of FAMILY_KEY or FAMILY_BASE_KEY shows, to release. NULL: no memory. */
struct metadata_entry *inodes_metadatum(const struct inode *inode);

/* The number of the directory that is the root of a model. */
uint64_t inodes_root_ino(const struct inodes *inodes, const struct model *model);

/* A new number for something of that model, NULL: of the mount. */
uint64_t inodes_new_ino(struct inodes *inodes, struct model *model);

/* The kernel was told of the inode; it will forget it as often as it was told. */
void inodes_count_lookup(struct inodes *inodes, struct inode *inode);
void inodes_forget(struct inodes *inodes, uint64_t ino, uint64_t times);

void inodes_put(struct inodes *inodes, struct inode *inode); /* NULL is fine */

/* For write_source.h: what the organ with that number came from, where it is one. inodes is a
 * struct inodes. */
struct donor *inodes_donor(void *inodes, uint64_t ino, uint64_t *size);

#endif
