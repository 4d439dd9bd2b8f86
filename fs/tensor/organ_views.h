/* SPDX-License-Identifier: MIT */
/* organ_views.h - organs in other forms, as .views shows them: what a slot holds, as a file of
 * another kind, made for the range that is read. */
#ifndef FS_TENSOR_ORGAN_VIEWS_H
#define FS_TENSOR_ORGAN_VIEWS_H

#include "gguf/organ.h"
#include "gguf/types.h"

struct importance_matrix;
struct view;

/* An organ, and where its data lie. All is borrowed. */
struct organ_location {
	struct organ organ;
	struct backing *file;
	uint64_t offset; /* of the data in it, in bytes */
	/* The organ under the name of its slot, by which an importance matrix knows it; borrowed.
	 * NULL: organ is that. */
	const struct organ *in_slot;
};

/* Its organ file. NULL: no memory. */
struct view *organ_location_view(const struct organ_location *located);

enum organ_view {
	ORGAN_VIEW_NPY,	     /* a NumPy file */
	ORGAN_VIEW_SPECTRAL, /* an organ file, purified */
	ORGAN_VIEW_FRACTAL,
	ORGAN_VIEW_EXPERTS, /* a directory with an organ file for each expert */
	ORGAN_VIEWS,
	/* .views/types has this number; the organ files of the ggml type id in it have the number
	 * ORGAN_VIEW_TYPES + 1 + id. */
	ORGAN_VIEW_TYPES = ORGAN_VIEWS,
	ORGAN_VIEW_FORMS = ORGAN_VIEW_TYPES + 1 + GGML_TYPES,
};

/* The directory of the form in .views: "npy", "types/q4_k", ... NULL: there is no such form. */
const char *organ_view_name(enum organ_view form);

/* The form of that directory. False: there is none. */
bool organ_view_find(const char *name, enum organ_view *form);

/* The ending of its files: ".npy", ".bin", "" for directories. */
const char *organ_view_suffix(enum organ_view form);

/* Number of types in .views/types. */
#define ORGAN_VIEW_TYPE_COUNT 24u

/* The form of the i-th type in .views/types. False: there are not so many. */
bool organ_view_of_type(uint64_t i, enum organ_view *form);

/* The number of the type whose files have that form, from 0 as above. UINT32_MAX: the form is not
 * one of a type in .views/types. */
uint32_t organ_view_type_number(enum organ_view form);

/* Are its files made of the organ alone, so that a recipe can make them again? */
bool organ_view_is_organ(enum organ_view form);

/* Is there such a file of the organ, which has the name of its slot, with the weights of
 * importance, which may be NULL? */
bool organ_view_exists(enum organ_view form, const struct organ *organ,
		       const struct importance_matrix *importance);

/* Of a file, for which organ_view_exists(): its size in bytes, and the file, encoded with the
 * weights of importance, which may be NULL (requantised.h); NULL: out of memory. */
uint64_t organ_view_size(enum organ_view form, const struct organ *organ);
struct view *organ_view_new(enum organ_view form, const struct organ_location *located,
			    struct importance_matrix *importance);

/* What organ the file is; that of the tensor where it is no organ file. */
struct organ organ_view_organ(enum organ_view form, const struct organ *organ);

#endif
