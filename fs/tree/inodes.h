/* SPDX-License-Identifier: MIT */
/* nodes.h - inodes: what a number that the kernel holds stands for. The content of an inode never
 * changes, except that of a file being written, which only its writer knows.
 *
 * What the base has needs no entry here: its numbers say what they are (inode.h). Everything else
 * is kept as long as the kernel or somebody here knows it. */
#ifndef FS_NODES_H
#define FS_NODES_H

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
	NODE_SCRATCH,	    /* a file that is no slot: stage is its content (scratches.h) */
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
	NODE_FORM,	   /* a directory of .views; part: enum form */
	NODE_FORM_CLASS,   /* one in it; index: enum organ_class, part: enum form */
	NODE_FORMED,	   /* an organ in a form; index, content as there, part: enum form */
	NODE_EXPERTS,	   /* the directory of a tensor's experts; index: tensor */
	NODE_EXPERT,	   /* index, content: the stack, part: which; INODE_ORDER: their order */
	NODE_EXPERT_STAGE, /* stage: what is being written over that */
	NODE_SINK,	   /* an empty file that drops what is written to it */
};

struct node {
	uint64_t ino;
	enum node_kind kind;
	uint32_t index, part;
	struct model *model; /* whose; NULL: the mount's */
	struct content *content;
	struct metadatum *metadatum;
	struct view *view;
	struct stage *stage;
	struct timespec mtime;
	/* Of the table, which protects them. */
	bool listed;
	uint64_t refs; /* the kernel's lookups and ours */
	struct node *next;
};

struct nodes; /* any thread may use it */

/* The nodes of a mount of n models, whose numbers are their places; borrowed. The root of the mount
 * is that of the only model, or with several holds a directory for each. NULL: out of memory. */
struct nodes *nodes_new(struct model *const *models, uint32_t n, bool several);
/* There are n models by now. */
void nodes_renewed(struct nodes *nodes, uint32_t n);

void nodes_free(struct nodes *nodes); /* with every node that the kernel still knew */

/* The node with that number, to release with nodes_put(). NULL: there is none. */
struct node *nodes_get(struct nodes *nodes, uint64_t ino);

/* Enter a node like *made, whose content, metadatum, view and stage become the node's, also on
 * failure. To release with nodes_put(). NULL: out of memory. */
struct node *nodes_add(struct nodes *nodes, const struct node *made);

/* The node of an organ as it is now, or of its θ file, as kind says: an entry where the slot holds
 * a graft. NULL with *rc set: -ENOENT the slot holds nothing, -ENOMEM. */
struct node *nodes_organ(struct nodes *nodes, enum node_kind kind, struct model *model,
			 uint32_t tensor, int *rc);

/* The node of something that is made of an organ as it is now: NODE_FORMED or NODE_EXPERT, with its
 * part. NULL with *rc set, as above, or if the organ has no such thing. */
struct node *nodes_made(struct nodes *nodes, enum node_kind kind, struct model *model,
			uint32_t tensor, uint32_t part, int *rc);

/* Its number, with that content in the slot. */
uint64_t nodes_made_ino(struct model *model, enum node_kind kind, uint32_t tensor, uint32_t part,
			struct content *content);

/* The number of an organ, or of its θ file, with that content in the slot. */
uint64_t nodes_organ_ino(const struct model *model, enum node_kind kind, uint32_t tensor,
			 const struct content *content);

/* The node of a metadata key as it is now. NULL with *rc set: -ENOENT it has no value, -ENOMEM. */
struct node *nodes_key(struct nodes *nodes, struct model *model, uint32_t i, int *rc);

/* The value that a node of NODE_KEY or NODE_BASE_KEY shows, to release. NULL: out of memory. */
struct metadatum *nodes_metadatum(const struct node *node);

/* The number of the directory that is the root of a model. */
uint64_t nodes_root_ino(const struct nodes *nodes, const struct model *model);

/* A new number for something of that model, NULL: of the mount. */
uint64_t nodes_new_ino(struct nodes *nodes, struct model *model);

/* The kernel was told of the node; it will forget it as often as it was told. */
void nodes_told(struct nodes *nodes, struct node *node);
void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t times);

void nodes_put(struct nodes *nodes, struct node *node); /* NULL is fine */

/* For trace.h: what the organ with that number came from, where it is one. nodes is a struct
 * nodes. */
struct donor *nodes_donor(void *nodes, uint64_t ino, uint64_t *size);

#endif
