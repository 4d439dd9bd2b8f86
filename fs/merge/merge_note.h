/* SPDX-License-Identifier: MIT */
/* merge_note.h - a merge in force as a text, for the next mount: the configuration, where its
 * models were found, and which tensors it has, so that these are known also where a model is gone.
 *
 *	organfs merge 1
 *	model NAME PATH FINGERPRINT	as written, and where it was found; "-": it is the base, of
 *					which the fingerprint is not there, nor is it in older notes
 *	template TEXT			the chat template of the result, if the merge has one
 *	tensor TYPE N0xN1 NAME		ggml's number of the type, the axes, fastest first
 *	gone NAME			the result has not what the base has
 *	config BYTES
 *	...				the configuration, that many bytes, to the end
 *
 * Names, paths and the template are percent-encoded as paths_print() has them; "-" is an empty
 * one. */
#ifndef FS_MERGE_MERGE_NOTE_H
#define FS_MERGE_MERGE_NOTE_H

#include "fs/base/fingerprint.h"
#include "gguf/organ.h"

#include <stddef.h>

struct merge_note_model {
	char *written, *path;
	char fingerprint[FINGERPRINT_TEXT]; /* empty: not known */
};

struct merge_note_tensor {
	struct organ organ; /* of one that is gone the name alone */
	bool gone;
};

/* Of one that was read, texts are borrowed from bytes. */
struct merge_note {
	size_t n_models, n;
	struct merge_note_model *models;
	struct merge_note_tensor *tensors;
	const char *chat_template; /* NULL: the base's */
	const char *text;	   /* the configuration, size bytes and a NUL */
	size_t size;
	char *bytes;
};

/* The note as a text, to free. NULL: out of memory. */
char *merge_note_print(const struct merge_note *note);

/* What such a text says, which becomes the note's; merge_note_release() is due. Returns 0, or
 * -errno with err set: EBADMSG, with the line; ENOMEM. */
int merge_note_read(char *bytes, struct merge_note *note, struct error *err);
void merge_note_release(struct merge_note *note);

/* An organ of that name, type and shape. False: there is no such. */
bool merge_note_organ(const char *name, uint32_t length, uint32_t type, uint32_t dims,
		      const uint64_t ne[GGML_AXES], struct organ *organ);

#endif
