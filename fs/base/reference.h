/* SPDX-License-Identifier: MIT */
/* reference.h - text form of a reference, by which a slot's content is a tensor of a model:
 *
 *	organfs reference 1
 *	model PATH
 *	fingerprint HEX         as fingerprint()
 *	tensor NAME
 *	type ID                 of ggml
 *	shape NE[xNE...]        nothing for a scalar
 *	bytes N
 *	of base|another         the layer's base, or another model,
 *				which may have the same fingerprint; absent: unknown
 *
 * In PATH and NAME, bytes up to a blank, from 0x7f on, and '%' are percent-encoded. Type, shape
 * and bytes describe the slot's content while the model cannot be read. */
#ifndef FS_BASE_REFERENCE_H
#define FS_BASE_REFERENCE_H

#include "fs/base/fingerprint.h"
#include "gguf/organ.h"

#include <stddef.h>

enum reference_of { REFERENCE_OF_UNKNOWN, REFERENCE_OF_BASE, REFERENCE_OF_ANOTHER };
extern const char *const reference_whose[REFERENCE_OF_ANOTHER + 1];

/* Parse the word after "of". NULL or an unknown word: unknown. */
enum reference_of reference_parse_of(const char *word);

/* The text for an organ of the file at path with that fingerprint, to free. NULL: out of memory. */
char *reference_print(const char *path, const char *fingerprint, const struct organ *organ,
		      enum reference_of of);

/* A parsed text. Strings end with a NUL; the name may contain NULs. */
struct reference {
	char *model, *tensor;
	size_t tensor_length;
	char fingerprint[FINGERPRINT_TEXT];
	struct organ organ; /* the tensor, with its name there */
	enum reference_of of;
	char *text; /* owned */
};

/* Parse the text. Returns 0, or -errno with err set: EBADMSG not a reference, ENOMEM. Release with
 * reference_release() in both cases. */
int reference_parse(const char *text, struct reference *reference, struct error *err);

void reference_release(struct reference *reference);

#endif
