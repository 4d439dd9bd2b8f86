/* SPDX-License-Identifier: MIT */
/* graft_internal.h - what graft.c and graft_take_up.c share: the filling of one slot. */
#ifndef FS_GRAFT_INTERNAL_H
#define FS_GRAFT_INTERNAL_H

#include "fs/model.h"

/* Longer names of tensors cannot be added. */
#define ADDED_NAME_MAX 512

struct filling {
	struct model *model;
	enum organ_class klass;
	const char *name;
	bool any_shape;
	bool is_new;		    /* there is no such slot yet */
	bool may_be_base;	    /* and then it is no graft */
	bool is_base;		    /* what is staged is what the base has, byte for byte */
	uint32_t tensor;	    /* else its number */
	struct organ organ;	    /* what is to fill it; its name is ours until it is a content */
	char added[ADDED_NAME_MAX]; /* of a new slot: the tensor's name */
	size_t added_length;
	struct error err;
};

/* Find the slot CLASS/NAME, or that there is none. */
void filling_find(struct filling *filling);

/* May the organ fill the slot? Returns 0, or -EINVAL with the reason in err. */
int filling_check(struct filling *filling);

/* The slot holds content, which becomes the model's, also on failure: -ENOSPC, -ENOMEM. */
int filling_put(struct filling *filling, struct content *content);

/* Fill the slot with what another one holds, with that content, NULL for the base's. -ESTALE: it
 * does not any more. The organ's name is borrowed afterwards. */
int graft_fill_from(struct filling *filling, uint32_t from, const struct content *content);

#endif
