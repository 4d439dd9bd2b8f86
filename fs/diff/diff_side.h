/* SPDX-License-Identifier: MIT */
/* diff_side.h - one side of a comparison: all tensors of a model at one moment with the places of
 * their bytes, and all metadata. Neither later grafts nor the end of the model change it. */
#ifndef FS_DIFF_DIFF_SIDE_H
#define FS_DIFF_DIFF_SIDE_H

#include "fs/tensor/organ_views.h"
#include "gguf/anatomy.h"

struct backing;
struct gguf;
struct model;
struct snapshot;

struct diff_tensor {
	/* The organ's name is the tensor's. file is NULL for a broken graft. */
	struct organ_location at;
	enum organ_class klass;
	enum tensor_kind kind;
	int32_t block; /* -1: none */
};

struct diff_key {
	const char *key; /* may contain NULs */
	uint32_t length;
	struct metadata_entry *value;
};

struct diff_side {
	const char *name; /* name of the model, to be shown */
	uint32_t n, n_keys;
	struct diff_tensor *tensors;	 /* in file order, added ones last */
	struct diff_key *keys;		 /* in the same order */
	struct names *index, *key_index; /* names to numbers; the first of equal names counts */
	struct arena *arena;		 /* owns all texts */
};

/* The side of a model with the grafts and edits of the snapshot; of a base, its file with the
 * parsed header. Everything needed is copied or referenced. NULL: out of memory. */
struct diff_side *diff_side_of_model(struct model *model, const struct snapshot *snapshot,
				     const char *name);
struct diff_side *diff_side_of_base(struct backing *file, const struct gguf *gguf,
				    const char *name);
void diff_side_free(struct diff_side *side); /* NULL is fine */

/* The tensor or key of that name. NULL: none. */
const struct diff_tensor *diff_side_tensor(const struct diff_side *side, const char *name,
					   size_t length);
const struct diff_key *diff_side_key(const struct diff_side *side, const char *key, size_t length);

#endif
