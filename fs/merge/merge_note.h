/* SPDX-License-Identifier: MIT */
/* merge_note.h - a merge in force as a text, which the layer keeps for the next mount: the
 * configuration, the paths of its models, and the tensors of the result, so that they are known
 * even if a model can no longer be found.
 *
 *	organfs merge 1
 *	model NAME PATH FINGERPRINT	name as written, and its path; PATH "-": the base. The base
 *					and the models of older notes have no fingerprint
 *	template TEXT			the chat template of the result, if the merge has one
 *	tensor TYPE N0xN1 NAME		ggml's number of the type, the axes, fastest first
 *	gone NAME			a tensor of the base that the result lacks
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
	char fingerprint[FINGERPRINT_TEXT]; /* empty: unknown */
};

struct merge_note_tensor {
	struct organ organ; /* of a tensor that is gone only the name */
	bool gone;
};

/* After merge_note_read() the texts point into its bytes. */
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

/* Parse a note. The note takes ownership of bytes; the caller calls merge_note_release(), also
 * after an error. Returns 0, or -errno with err set: EBADMSG, with the line; ENOMEM. */
int merge_note_read(char *bytes, struct merge_note *note, struct error *err);
void merge_note_release(struct merge_note *note);

/* Make the organ of that name, type and shape. Returns false if they are not valid. */
bool merge_note_organ(const char *name, uint32_t length, uint32_t type, uint32_t dims,
		      const uint64_t ne[GGML_AXES], struct organ *organ);

#endif
