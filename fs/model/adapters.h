/* SPDX-License-Identifier: MIT */
/* adapters.h - the low-rank adapters and control vectors of a model, merged into the contents that
 * its slots show.
 *
 *	adapters/NAME.gguf	a link to an adapter's file
 *	adapters/NAME.scale	its factor (adapter_scale.h), 1 unless the user wrote another
 *	adapters/PAIR.bin	copied halves, which are slots of the model; together they are
 *				the adapter "lora"
 *	adapters/lora.alpha	alpha of the copied pairs; their scale is lora.scale
 *	.imatrix		a link to an importance matrix, whose weights the encoders of types
 *				use; it is kept among the adapters, under that name
 *
 * 1. Adapters are merged in the order of their names, the copied pairs last among adapters of the
 *    same name. An adapter with a scale of 0 is not merged.
 * 2. A slot that an adapter changes shows a content of its own, replaced at each change.
 * 3. A half whose other half is missing changes nothing.
 * 4. A model with low-rank pairs in its base is itself an adapter; nothing is merged into it.
 * 5. A control vector removes a direction from slots (gguf/control_vector.h), after the adapters
 *    before it in the order. */
#ifndef FS_MODEL_ADAPTERS_H
#define FS_MODEL_ADAPTERS_H

#include "fs/model/adapter_scale.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct backing;
struct error;
struct gguf;
struct importance_matrix;
struct model;
struct organ;

struct adapters; /* any thread may use it */

/* Name of the link to the importance matrix, in the root of a model. */
#define ADAPTERS_IMPORTANCE ".imatrix"

static inline bool adapters_is_importance(const char *file)
{
	return file[0] == '.';
}

/* Importance matrix in force, to release with importance_matrix_unref(). NULL: none, or its link is
 * broken. */
struct importance_matrix *adapters_importance(const struct model *model);

/* Number of changes of the importance matrix. */
uint32_t adapters_importance_changes(const struct model *model);

/* Name of the adapter that consists of the copied pairs. */
#define ADAPTERS_COPIED "lora"

/* Maximal number of links, besides the copied pairs. */
#define ADAPTERS_MAX 31

/* New adapters of a model, which is borrowed and has its slots; registers the slots' listener.
 * NULL: out of memory. */
struct adapters *adapters_new(struct model *model);
void adapters_free(struct adapters *adapters); /* NULL is fine */

/* Can adapters be merged into the model? */
bool adapters_apply(const struct model *model);

/* Is the slot a copied half, and so no part of the assembled model? */
bool adapters_is_half(const struct model *model, uint32_t slot);

/* Check that an organ can be a half under that tensor name. Returns 0, or -EINVAL with the reason
 * in err. */
int adapters_check(struct model *model, const char *tensor, size_t length,
		   const struct organ *organ, struct error *err);

/* Check that the GGUF in file is an adapter for the model, or if name is that of the importance
 * matrix, a matrix for it. Returns 0 or -errno with the reason in err. */
int adapters_check_file(struct model *model, const char *name, struct backing *file,
			const struct gguf *gguf, struct error *err);

/* Files of an adapter other than organs. */
enum adapter_file { ADAPTER_GGUF, ADAPTER_SCALE, ADAPTER_ALPHA, ADAPTER_FILES };

/* Parse a file name: its kind, and the length of the adapter's name in it. False: no adapter's
 * file. */
bool adapters_parse(const char *file, enum adapter_file *kind, size_t *length);

/* Attributes and content of such a file. */
struct adapter_attr {
	uint32_t number; /* of the file, constant during the mount */
	enum adapter_file kind;
	uint64_t ino;
	struct timespec mtime;
	bool set;		     /* set by the user, not the default */
	struct content *link;	     /* ADAPTER_GGUF: to be released */
	char text[ADAPTER_TEXT_MAX]; /* other kinds: the file's text */
};

/* Look a file up by name. False: it does not exist now. */
bool adapters_lookup(struct model *model, const char *file, struct adapter_attr *shown);

/* Find the first file from *place on; sets *place to it. False: no more files. */
bool adapters_next(struct model *model, uint64_t *place, char file[NAME_MAX + 1],
		   struct adapter_attr *shown);

/* Name of the file with that number. */
void adapters_name(struct model *model, uint32_t number, char file[NAME_MAX + 1]);

/* Is any file listed? */
bool adapters_any(struct model *model);

/* Is any link broken, so that another attempt is worth while? */
bool adapters_broken(struct model *model);

/* Make sure that an adapter of that name exists, perhaps an empty one, so that setting this kind of
 * file cannot fail. The caller holds the commit lock, as for all functions below. Returns 0,
 * -ENOMEM, or -ENOSPC with err, which may be NULL, set: there are too many. */
int adapters_reserve(struct model *model, const char *name, size_t length, enum adapter_file kind,
		     struct error *err);

/* Set the link of adapter NAME, and gguf, the tensors of the link's file (NULL: broken). Takes
 * ownership of both. link NULL removes the adapter and its scale. */
void adapters_set_link(struct model *model, const char *name, size_t length, struct content *link,
		       struct gguf *gguf);

/* Link of an adapter, to release. NULL: none. */
struct content *adapters_link(struct model *model, const char *name, size_t length);

/* Set the scale or alpha of an adapter, an alpha as a scale of one number, and the setting's time.
 * value NULL restores the default. */
void adapters_set_value(struct model *model, const char *name, size_t length,
			enum adapter_file kind, const struct adapter_scale *value,
			const struct timespec *mtime);

/* Check a scale, or the one in force if scale is NULL, against an adapter's file, or the linked one
 * if gguf is NULL: norm=keep needs a control vector. A linked file that is broken passes. Returns
 * 0, or -EINVAL with err set. */
int adapters_check_scale(struct model *model, const char *name, size_t length,
			 const struct adapter_scale *scale, const struct gguf *gguf,
			 struct error *err);

/* Compute anew the contents that slots show with the adapters. */
void adapters_refresh(struct model *model);

/* Are there copied halves? */
bool adapters_has_copied(struct model *model);

/* Alpha of the copied pairs. False: neither the user nor a donor has set one. */
bool adapters_copied_alpha(struct model *model, float *alpha);

/* Note the alpha that a donor states. True: it differs from the one noted before. */
bool adapters_note_alpha(struct model *model, float alpha);

struct adapter_line {
	char *name; /* "NAME.gguf", its file in adapters/, or "lora" for copied pairs */
	struct adapter_scale scale; /* factor of the product */
	uint32_t touched;	    /* tensors changed by it */
	uint32_t halves;	    /* copied halves whose other half is missing */
	uint64_t bytes;		    /* size of its tensors */
	struct timespec mtime;
	char *file;   /* path of the adapter's file; NULL: copied pairs */
	char *broken; /* reason why it cannot be read, or NULL */
};

/* A link or setting that the user made. */
struct adapter_set {
	char file[NAME_MAX + 1];
	struct adapter_attr shown; /* with a reference to its link */
};

/* Snapshot of the adapters of a model, for texts. */
struct adapter_list {
	uint32_t n, broken, n_set;
	struct adapter_line *lines; /* in the order of merging */
	struct adapter_set *set;    /* by adapter name */
};

/* List of all adapters in force. NULL: out of memory. */
struct adapter_list *adapters_list(struct model *model);
void adapter_list_free(struct adapter_list *list); /* NULL is fine */

#endif
