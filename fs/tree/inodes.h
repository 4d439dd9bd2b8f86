/* SPDX-License-Identifier: MIT */
/* inodes.h - inodes: what a number that the kernel holds stands for. The content of an inode never
 * changes, except that of a file being written, which only its writer knows.
 *
 * What the base has needs no entry here: its numbers say what they are (inode.h). Everything else
 * is kept as long as the kernel or somebody here knows it. */
#ifndef FS_TREE_INODES_H
#define FS_TREE_INODES_H

#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/storage/view.h"

enum node_kind {
	NODE_MODELS,	    /* the root of a mount with several models; model: NULL */
	NODE_ROOT,	    /* of a model */
	NODE_CLASS,	    /* index: enum organ_class */
	NODE_ORGAN,	    /* index: tensor; content: the graft, NULL for the base's */
	NODE_LINK,	    /* an organ that is a symbolic link: the graft says where */
	NODE_THETA,	    /* the θ file of an organ: index, content as there */
	NODE_STAGE,	    /* index: tensor; stage: what is being written over it */
	NODE_SCRATCH,	    /* a file that is no slot: stage is its content (scratch_files.h) */
	NODE_SCRATCH_LINK,  /* a symbolic link that is no slot's: the content's */
	NODE_ADAPTER,	    /* a link to an adapter's file; index: its number; content: the link */
	NODE_SETTING,	    /* a number of an adapter; index: its file's; view: its text */
	NODE_SETTING_STAGE, /* index as there; stage: what is being written over it */
	NODE_BASE,	    /* the directory .base */
	NODE_BASE_CLASS,    /* a class in it; index: enum organ_class */
	NODE_BASE_ORGAN,    /* an organ in that; index: tensor */
	NODE_VIEWS,	    /* the directory .views */
	NODE_GENERATED,	    /* index: enum generated_kind; view: its content */
	NODE_METADATA,	    /* the directory metadata */
	NODE_KEY,	    /* index: key; metadatum: its value, NULL for the base's */
	NODE_KEY_STAGE,	    /* index: key; stage: what is being written over it */
	NODE_BASE_METADATA,
	NODE_BASE_KEY,	   /* index: key; the base's value */
	NODE_FORM,	   /* a directory of .views; part: enum organ_view */
	NODE_FORM_CLASS,   /* one in it; index: enum organ_class, part: enum organ_view */
	NODE_FORMED,	   /* an organ in a form; index, content as there, part: enum organ_view */
	NODE_EXPERTS,	   /* the directory of a tensor's experts; index: tensor */
	NODE_EXPERT,	   /* index, content: the stack, part: which; INODE_ORDER: their order */
	NODE_EXPERT_STAGE, /* stage: what is being written over that */
	NODE_SINK,	   /* an empty file that drops what is written to it */
};

struct inode {
	uint64_t ino;
	enum node_kind kind;
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

/* The inode of an organ as it is now, or of its θ file, as kind says: an entry where the slot holds
 * a graft. NULL with *rc set: -ENOENT the slot holds nothing, -ENOMEM. */
struct inode *inodes_organ(struct inodes *inodes, enum node_kind kind, struct model *model,
			   uint32_t tensor, int *rc);

/* The inode of something that is made of an organ as it is now: NODE_FORMED or NODE_EXPERT, with
 * its part. NULL with *rc set, as above, or if the organ has no such thing. */
struct inode *inodes_computed(struct inodes *inodes, enum node_kind kind, struct model *model,
			      uint32_t tensor, uint32_t part, int *rc);

/* Its number, with that content in the slot. */
uint64_t inodes_computed_ino(struct model *model, enum node_kind kind, uint32_t tensor,
			     uint32_t part, struct content *content);

/* The number of an organ, or of its θ file, with that content in the slot. */
uint64_t inodes_organ_ino(const struct model *model, enum node_kind kind, uint32_t tensor,
			  const struct content *content);

/* The inode of a metadata key as it is now. NULL with *rc set: -ENOENT it has no value, -ENOMEM. */
struct inode *inodes_key(struct inodes *inodes, struct model *model, uint32_t i, int *rc);

/* The value that an inode of NODE_KEY or NODE_BASE_KEY shows, to release. NULL: out of memory. */
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
