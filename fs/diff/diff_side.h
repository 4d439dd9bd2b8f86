/* SPDX-License-Identifier: MIT */
/* diff_side.h - a model as it is compared with another: all tensors at one moment with where their
 * bytes are, and all metadata. It stands by itself: neither a graft nor the end of the model that
 * it was taken from changes it. */
#ifndef FS_DIFF_DIFF_SIDE_H
#define FS_DIFF_DIFF_SIDE_H

#include "fs/tensor/organ_views.h"
#include "gguf/anatomy.h"

struct backing;
struct gguf;
struct model;
struct snapshot;

struct diff_tensor {
	/* The organ's name is the tensor's. file is NULL where it cannot be read: of a broken
	 * graft. */
	struct organ_location at;
	enum organ_class klass;
	enum tensor_kind kind;
	int32_t block; /* -1: none */
};

struct diff_key {
	const char *key; /* may hold NULs */
	uint32_t length;
	struct metadata_entry *value;
};

struct diff_side {
	const char *name; /* of the model, for people */
	uint32_t n, n_keys;
	struct diff_tensor *tensors;	 /* in file order, those that were added last */
	struct diff_key *keys;		 /* as well */
	struct names *index, *key_index; /* names to numbers; the first one of equal names */
	struct arena *arena;		 /* of all texts */
};

/* Of the model with its grafts and edits as that snapshot has them; of a base, or of the file of
 * one with what was parsed of it. All that is needed of them is referred to or copied. NULL: out of
 * memory. */
struct diff_side *diff_side_of_model(struct model *model, const struct snapshot *snapshot,
				     const char *name);
struct diff_side *diff_side_of_base(struct backing *file, const struct gguf *gguf,
				    const char *name);
void diff_side_free(struct diff_side *side); /* NULL is fine */

/* The tensor or the key of that name. NULL: there is none. */
const struct diff_tensor *diff_side_tensor(const struct diff_side *side, const char *name,
					   size_t length);
const struct diff_key *diff_side_key(const struct diff_side *side, const char *key, size_t length);

#endif
