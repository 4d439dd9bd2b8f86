/* SPDX-License-Identifier: MIT */
/* organ_views.h - organs in other forms, as .views shows them: files of another kind, computed from
 * an organ for the range that is read. */
#ifndef FS_TENSOR_ORGAN_VIEWS_H
#define FS_TENSOR_ORGAN_VIEWS_H

#include "gguf/organ.h"
#include "gguf/types.h"

struct importance_matrix;
struct view;

/* An organ and the place of its data, all borrowed. */
struct organ_location {
	struct organ organ;
	struct backing *file;
	uint64_t offset; /* of the data in file, in bytes */
	/* The organ with its slot's name, known to importance matrices; borrowed. NULL: organ. */
	const struct organ *in_slot;
};

/* The organ file. NULL: out of memory. */
struct view *organ_location_view(const struct organ_location *located);

enum organ_view {
	ORGAN_VIEW_NPY,	     /* a NumPy file */
	ORGAN_VIEW_SPECTRAL, /* an organ file, purified */
	ORGAN_VIEW_FRACTAL,
	ORGAN_VIEW_EXPERTS, /* a directory with an organ file for each expert */
	ORGAN_VIEWS,
	/* .views/types has this number; the organ files of a type in it this + 1 + its id. */
	ORGAN_VIEW_TYPES = ORGAN_VIEWS,
	ORGAN_VIEW_FORMS = ORGAN_VIEW_TYPES + 1 + GGML_TYPES,
};

/* Name of the form's directory in .views: "npy", "types/q4_k", ... NULL: no such form. */
const char *organ_view_name(enum organ_view form);

/* Find the form of that directory. False: none. */
bool organ_view_find(const char *name, enum organ_view *form);

/* Suffix of its files: ".npy", ".bin", "" for directories. */
const char *organ_view_suffix(enum organ_view form);

/* Number of types in .views/types. */
#define ORGAN_VIEW_TYPE_COUNT 24u

/* Get the form of the i-th type in .views/types. False: i is too large. */
bool organ_view_of_type(uint64_t i, enum organ_view *form);

/* Index of the form's type in .views/types, as above. UINT32_MAX: not in .views/types. */
uint32_t organ_view_type_number(enum organ_view form);

/* Does the file depend on the organ alone, so that a recipe can reproduce it? */
bool organ_view_is_organ(enum organ_view form);

/* Does the file exist for the organ, which has its slot's name? importance, which may be NULL,
 * provides weights. */
bool organ_view_exists(enum organ_view form, const struct organ *organ,
		       const struct importance_matrix *importance);

/* Size in bytes of the file for which organ_view_exists() is true; and the file, encoded with the
 * weights of importance (requantised.h), which may be NULL. View NULL: out of memory. */
uint64_t organ_view_size(enum organ_view form, const struct organ *organ);
struct view *organ_view_new(enum organ_view form, const struct organ_location *located,
			    struct importance_matrix *importance);

/* The organ in the file; for a file that is not an organ file, the original organ. */
struct organ organ_view_organ(enum organ_view form, const struct organ *organ);

#endif
