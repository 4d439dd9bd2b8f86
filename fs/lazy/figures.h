/* SPDX-License-Identifier: MIT */
/* figures.h - data of reports and pictures: for each tensor its place in the anatomy, its changes
 * and its Z-measure; for the model its metadata. */
#ifndef FS_LAZY_FIGURES_H
#define FS_LAZY_FIGURES_H

#include "gguf/anatomy.h"

#include <stdatomic.h>
#include <stdbool.h>

struct importance_matrix;
struct memo;
struct snapshot;

/* Changes of a tensor in a mount; each is a bit. */
enum figure_change {
	FIGURE_GRAFTED,	  /* its slot has another content than the base's */
	FIGURE_REMOVED,	  /* its slot is empty */
	FIGURE_ADDED,	  /* the base has no such slot */
	FIGURE_CONVERTED, /* its type differs from the base's */
	FIGURE_MERGED,	  /* adapters change it */
	FIGURE_CHANGES,
};

/* All texts are borrowed. */
struct figure {
	const char *file; /* "organs/blk_3_ffn_up.bin" */
	const char *role; /* the name without block and ".weight": "ffn_up" */
	const char *type; /* ggml type: "Q4_K" */
	enum organ_class klass;
	enum tensor_kind kind;
	int32_t block; /* -1: none */
	uint64_t elements;
	const struct zmeasure *z; /* NULL: not measured (yet), or its type has no values */
	unsigned changes;	  /* 1 << enum figure_change, ... */
	/* Of a graft: path of a GGUF, or of an organ file's directory with '/' at its end; NULL:
	 * none, or unknown. */
	const char *donor;
	const char *tensor; /* exact name, of tensor_length bytes, which may include NULs */
	uint32_t tensor_length;
	const char *shape; /* "256x512" */
	uint64_t bytes;	   /* of its data; UINT64_MAX: unknown */
	bool weighed;	   /* the importance matrix has weights for it, */
	double importance; /* with this mean; NaN: not read (yet), or unreadable */
};

static inline bool figure_is(const struct figure *figure, enum figure_change change)
{
	return figure->changes >> change & 1;
}

struct card; /* card.h */

struct figures {
	const struct card *card;	      /* borrowed; NULL: from the model's metadata */
	struct model *model;		      /* borrowed; NULL: no model and no subjects */
	struct metadata_edits *edits;	      /* metadata edits; NULL: none */
	struct importance_matrix *importance; /* NULL: none, or not shown */
	const char *layer;		      /* directory of the grafts; NULL: none yet */
	uint32_t grafts;
	uint64_t total; /* tensors of the whole model if only a part is present, else 0 */
	size_t n;
	struct figure *figures; /* in file order, with z NULL */
	size_t n_removed;
	struct figure *removed;	  /* base tensors of empty slots, for pictures */
	struct subject *subjects; /* subjects to measure, with references; NULL: no model */
	struct arena *arena;	  /* of the texts */
};

/* The figures of a model at the snapshot. NULL: out of memory. */
struct figures *figures_new(struct model *model, const struct snapshot *snapshot);
void figures_free(struct figures *figures); /* NULL is fine */

/* The figures of the base, without grafts. */
struct figures *figures_of_base(struct model *model);

/* Include the mean weights of the importance matrix in force when measuring, which reads the whole
 * matrix file. Returns figures, which may be NULL. */
struct figures *figures_add_weights(struct figures *figures);

/* Measure all tensors; z of each then points into values, which has n elements. Returns 0, or as
 * memo_prepare(). */
int figures_measure(struct figures *figures, struct memo *measures, struct zmeasure *values,
		    const atomic_bool *stop);

/* A measured copy of figures. */
struct measured_figures {
	struct figures figures; /* only the array is owned; not to be freed by itself */
	struct zmeasure *values;
};

/* Copy figures, whose z are all NULL, and measure the copy unless measures is NULL. Returns 0,
 * -ENOMEM, or as memo_prepare(), with an unmeasured copy. measured_figures_release() is due either
 * way. */
int figures_measure_copy(const struct figures *figures, struct memo *measures,
			 const atomic_bool *stop, struct measured_figures *copy);
void measured_figures_release(struct measured_figures *copy);

#endif
