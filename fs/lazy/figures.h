/* SPDX-License-Identifier: MIT */
/* figures.h - what reports and pictures show: of each tensor where it stands in the anatomy and its
 * Z-measure, of the model what its metadata says. */
#ifndef FS_LAZY_FIGURES_H
#define FS_LAZY_FIGURES_H

#include "gguf/anatomy.h"

#include <stdatomic.h>
#include <stdbool.h>

struct importance_matrix;
struct memo;
struct snapshot;

/* What a mount has made of a tensor; each is a bit. */
enum figure_change {
	FIGURE_GRAFTED,	  /* its slot holds something else than the base's */
	FIGURE_REMOVED,	  /* its slot holds nothing */
	FIGURE_ADDED,	  /* the base has no such slot */
	FIGURE_CONVERTED, /* the base's is of another type */
	FIGURE_MERGED,	  /* adapters change it */
	FIGURE_CHANGES,
};

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
	unsigned changes;	  /* 1 << enum figure_change, ... */
	const char *donor;  /* of a graft: the path of a GGUF, or that of the directory of an organ
			      file with '/' at its end; NULL: none, or not known */
	const char *tensor; /* its exact name, of that length, which may hold NULs */
	uint32_t tensor_length;
	const char *shape; /* "256x512" */
	uint64_t bytes;	   /* of its data; UINT64_MAX: not known */
	bool weighed;	   /* importance has weights for it, */
	double importance; /* of which this is the mean; NaN: not read (yet), or not readable */
};

static inline bool figure_is(const struct figure *figure, enum figure_change change)
{
	return figure->changes >> change & 1;
}

struct card; /* card.h */

struct figures {
	const struct card *card;      /* borrowed; NULL: what the model's metadata say */
	struct model *model;	      /* borrowed; NULL: there is none, and no subjects */
	struct metadata_edits *edits; /* of the metadata; NULL: none */
	struct importance_matrix *importance; /* NULL: none, or weights are not shown */
	const char *layer; /* the directory that holds the grafts; NULL: there is none yet */
	uint32_t grafts;
	uint64_t total; /* tensors of the whole model, where only a part is here; else 0 */
	size_t n;
	struct figure *figures; /* in file order, with z NULL */
	size_t n_removed;
	struct figure *removed;	  /* what slots held that hold nothing now; pictures show that */
	struct subject *subjects; /* what to measure for each, with references of their own; NULL
				     where there is no model */
	struct arena *arena;	  /* of the texts */
};

/* The figures of a model with the slots of that snapshot. NULL: out of memory. */
struct figures *figures_new(struct model *model, const struct snapshot *snapshot);
void figures_free(struct figures *figures); /* NULL is fine */

/* The same of the base, whatever was grafted on. */
struct figures *figures_of_base(struct model *model);

/* To be measured with the mean weights of the importance matrix in force, for which the file of the
 * matrix is read as a whole. NULL is fine. Returns figures. */
struct figures *figures_weigh(struct figures *figures);

/* Measure them all: z of each points into values, n of them, from then on. Returns 0, or as
 * memo_prepare(). */
int figures_measure(struct figures *figures, struct memo *measures, struct zmeasure *values,
		    const atomic_bool *stop);

/* Figures that are measured beside those that stay as they are. */
struct measured_figures {
	struct figures figures; /* all but the array is borrowed; not to be freed by itself */
	struct zmeasure *values;
};

/* Copy figures, all with z NULL, and measure the copy unless measures is NULL. Returns 0, -ENOMEM,
 * or as memo_prepare(): then the copy is there without measures. measured_figures_release() is due
 * either way. */
int figures_measure_copy(const struct figures *figures, struct memo *measures,
			 const atomic_bool *stop, struct measured_figures *copy);
void measured_figures_release(struct measured_figures *copy);

#endif
