/* SPDX-License-Identifier: MIT */
/* reference.h - how a layer says that a slot holds a tensor of a model:
 *
 *	organfs reference 1
 *	model PATH
 *	fingerprint HEX         as fingerprint()
 *	tensor NAME
 *	type ID                 of ggml
 *	shape NE[xNE...]        nothing for a scalar
 *	bytes N
 *	of base|another         whose model that is: the one that the layer is for, or another,
 *				which may have the same fingerprint; absent: not known
 *
 * In PATH and NAME, bytes up to a blank, from 0x7f on, and '%' are percent-encoded. Type, shape
 * and bytes say what the slot holds while the model cannot be read. */
#ifndef FS_BASE_REFERENCE_H
#define FS_BASE_REFERENCE_H

#include "fs/base/fingerprint.h"
#include "gguf/organ.h"

#include <stddef.h>

enum reference_of { REFERENCE_OF_UNKNOWN, REFERENCE_OF_BASE, REFERENCE_OF_ANOTHER };
extern const char *const reference_whose[REFERENCE_OF_ANOTHER + 1];

/* What the word says; NULL, or another word: it is not known. */
enum reference_of reference_parse_of(const char *word);

/* The text for an organ of the file at path, which has that fingerprint, to free. NULL: out of
 * memory. */
char *reference_print(const char *path, const char *fingerprint, const struct organ *organ,
		      enum reference_of of);

/* What a text says; texts are NUL-terminated, the name may hold NULs. */
struct reference {
	char *model, *tensor;
	size_t tensor_length;
	char fingerprint[FINGERPRINT_TEXT];
	struct organ organ; /* the tensor, under that name */
	enum reference_of of;
	char *text; /* owned */
};

/* Read the text. Returns 0, or -errno with err set: EBADMSG no reference, ENOMEM. Release with
 * reference_release() either way. */
int reference_parse(const char *text, struct reference *reference, struct error *err);

void reference_release(struct reference *reference);

#endif
