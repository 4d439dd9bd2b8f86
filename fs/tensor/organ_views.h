/* SPDX-License-Identifier: MIT */
/* forms.h - organs in other forms, as .views shows them: what a slot holds, as a file of another
 * kind, made for the range that is read. */
#ifndef FS_FORMS_H
#define FS_FORMS_H

#include "fs/tensor/located.h"

enum form {
	FORM_NPY,      /* a NumPy file */
	FORM_SPECTRAL, /* an organ file, purified */
	FORM_FRACTAL,
	FORM_EXPERTS, /* a directory with an organ file for each expert */
	FORMS,
};

/* "npy", ... */
const char *form_name(enum form form);

/* ".npy", ".bin", "" for directories */
const char *form_ending(enum form form);

/* Is there such a file of the organ, which has the name of its slot? */
bool form_has(enum form form, const struct organ *organ);

/* Of a file, for which form_has(): its size in bytes, and the file; NULL: out of memory. */
uint64_t form_size(enum form form, const struct organ *organ);
struct view *form_view(enum form form, const struct located *located);

/* What organ the file is; that of the tensor where it is no organ file. */
struct organ form_organ(enum form form, const struct organ *organ);

#endif
