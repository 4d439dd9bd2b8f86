/* SPDX-License-Identifier: MIT */
/* organ_views.h - organs in other forms, as .views shows them: what a slot holds, as a file of
 * another kind, made for the range that is read. */
#ifndef FS_TENSOR_ORGAN_VIEWS_H
#define FS_TENSOR_ORGAN_VIEWS_H

#include "gguf/organ.h"

struct view;

/* An organ, and where its data lie. All is borrowed. */
struct organ_location {
	struct organ organ;
	struct backing *file;
	uint64_t offset; /* of the data in it, in bytes */
};

/* Its organ file. NULL: no memory. */
struct view *organ_location_view(const struct organ_location *located);

enum organ_view {
	ORGAN_VIEW_NPY,	     /* a NumPy file */
	ORGAN_VIEW_SPECTRAL, /* an organ file, purified */
	ORGAN_VIEW_FRACTAL,
	ORGAN_VIEW_EXPERTS, /* a directory with an organ file for each expert */
	ORGAN_VIEWS,
};

extern const struct organ_view_words {
	const char *name;   /* "npy", ... */
	const char *suffix; /* ".npy", ".bin", "" for directories */
} organ_view_words[ORGAN_VIEWS];

/* Is there such a file of the organ, which has the name of its slot? */
bool organ_view_exists(enum organ_view form, const struct organ *organ);

/* Of a file, for which organ_view_exists(): its size in bytes, and the file; NULL: out of
 * memory. */
uint64_t organ_view_size(enum organ_view form, const struct organ *organ);
struct view *organ_view_new(enum organ_view form, const struct organ_location *located);

/* What organ the file is; that of the tensor where it is no organ file. */
struct organ organ_view_organ(enum organ_view form, const struct organ *organ);

#endif
