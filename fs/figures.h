/* SPDX-License-Identifier: MIT */
/* figures.h - what reports and pictures show: of each tensor where it stands in the anatomy and its
 * Z-measure, of the model what its metadata says. */
#ifndef FS_FIGURES_H
#define FS_FIGURES_H

#include "fs/readings.h"
#include "gguf/anatomy.h"
#include "measure/zmeasure.h"

/* All texts are borrowed. */
struct figure {
	const char *file; /* "organs/blk_3_ffn_up.bin" */
	const char *role; /* its name without the block and without ".weight": "ffn_up" */
	const char *type; /* of its values: "Q4_K" */
	enum organ_class klass;
	enum tensor_kind kind;
	int32_t block; /* -1: none */
	uint64_t elements;
	const struct zmeasure *z; /* NULL: not known (yet), or its type holds no values */
};

struct card; /* card.h */

struct figures {
	const struct card *card; /* borrowed; NULL: what the model's metadata say */
	struct model *model;	 /* borrowed; NULL: there is none, and no subjects */
	struct edits *edits;	 /* of the metadata; NULL: none */
	uint32_t grafts;
	uint64_t total; /* tensors of the whole model, where only a part is here; else 0 */
	size_t n;
	struct figure *figures;	  /* in file order, with z NULL */
	struct subject *subjects; /* what to measure for each, with references of their own */
	struct arena *arena;	  /* of the texts */
};

/* The figures of a model with the slots of that snapshot. NULL: out of memory. */
struct figures *figures_new(struct model *model, const struct snapshot *snapshot);
void figures_free(struct figures *figures); /* NULL is fine */

#endif
