/* SPDX-License-Identifier: MIT */
/* adapters.h - the low-rank adapters and control vectors of a model: what its slots show with them.
 *
 *	adapters/NAME.gguf	a link to an adapter's file
 *	adapters/NAME.scale	what it is multiplied by, 1 unless the user wrote another
 *	adapters/PAIR.bin	halves that were copied in, which are slots of the model; together
 *				they are the adapter "lora"
 *	adapters/lora.alpha	their alpha, and lora.scale
 *	.imatrix		a link to an importance matrix, whose weights the encoders of types
 *				use; it is kept among the adapters, under that name
 *
 * 1. Adapters are merged in the order of their names, the copied pairs last among those of one
 *    name; with a scale of 0 one is not merged at all.
 * 2. A slot that an adapter changes shows a content of its own, a new one whenever that changes.
 * 3. A half whose other half is missing changes nothing.
 * 4. A model that has low-rank pairs in its base is an adapter itself: nothing is merged into
 *    it.
 * 5. A control vector is an adapter that takes a direction out of slots (gguf/control_vector.h), as
 *    the adapters before it have left these. */
#ifndef FS_MODEL_ADAPTERS_H
#define FS_MODEL_ADAPTERS_H

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

/* The importance matrix is the link of that name, which is in the root of a model. */
#define ADAPTERS_IMPORTANCE ".imatrix"

static inline bool adapters_is_importance(const char *file)
{
	return file[0] == '.';
}

/* The importance matrix in force, to release with importance_matrix_unref(). NULL: there is none,
 * or its link is broken. */
struct importance_matrix *adapters_importance(const struct model *model);

/* How often the model has had another matrix. */
uint32_t adapters_importance_changes(const struct model *model);

/* The copied pairs are the adapter of that name. */
#define ADAPTERS_COPIED "lora"

/* So many there can be beside the copied pairs. */
#define ADAPTERS_MAX 31

/* Those of a model whose slots are there, which follow them from now on. The model is borrowed.
 * NULL: out of memory. */
struct adapters *adapters_new(struct model *model);
void adapters_free(struct adapters *adapters); /* NULL is fine */

/* Can adapters be merged into the model? */
bool adapters_apply(const struct model *model);

/* Is the slot a half that was copied in, and so no part of the assembled model? */
bool adapters_is_half(const struct model *model, uint32_t slot);

/* May an organ be a half under that tensor name? Returns 0, or -EINVAL with the reason. */
int adapters_check(struct model *model, const char *tensor, size_t length,
		   const struct organ *organ, struct error *err);

/* May the adapter in that file be merged, a GGUF; or by its name, is it an importance matrix? The
 * same. */
int adapters_check_file(struct model *model, const char *name, struct backing *file,
			const struct gguf *gguf, struct error *err);

/* The files of an adapter that are no organs. */
enum adapter_file { ADAPTER_GGUF, ADAPTER_SCALE, ADAPTER_ALPHA, ADAPTER_FILES };

/* What a file of that name would be, and how long the adapter's name in it is. False: none of
 * these. */
bool adapters_parse(const char *file, enum adapter_file *kind, size_t *length);

/* What such a file shows now. */
#define ADAPTER_TEXT_MAX 48
struct adapter_attr {
	uint32_t number; /* of the file, which is always the same */
	enum adapter_file kind;
	uint64_t ino;
	struct timespec mtime;
	bool set;		     /* by the user, and not as it is by default */
	struct content *link;	     /* ADAPTER_GGUF: to be released */
	char text[ADAPTER_TEXT_MAX]; /* else */
};

/* A number as the text that is kept and shown. Returns its length. */
size_t adapters_print_number(float value, char text[ADAPTER_TEXT_MAX]);

/* The file of that name. False: there is none now. */
bool adapters_lookup(struct model *model, const char *file, struct adapter_attr *shown);

/* The first file from *place on, which is set to its place, with its name. False: no more. */
bool adapters_next(struct model *model, uint64_t *place, char file[NAME_MAX + 1],
		   struct adapter_attr *shown);

/* The name of the file with that number. */
void adapters_name(struct model *model, uint32_t number, char file[NAME_MAX + 1]);

/* Is there anything to be listed? */
bool adapters_any(struct model *model);

/* Do some lead nowhere, so that it is worth while to look again? */
bool adapters_broken(struct model *model);

/* With the commit lock held, as all below. There is an adapter with that name, perhaps without
 * anything in it: what follows cannot fail for it and that kind of file. Returns 0, -ENOSPC or
 * -ENOMEM. */
int adapters_reserve(struct model *model, const char *name, size_t length, enum adapter_file kind);

/* The adapter NAME is what link leads to, which becomes the adapters', and so does gguf: what is in
 * the link's file, NULL where that is broken. With link NULL, it is nothing any more, and has no
 * scale of its own either. */
void adapters_set_link(struct model *model, const char *name, size_t length, struct content *link,
		       struct gguf *gguf);

/* Its link, to release. NULL: it has none. */
struct content *adapters_link(struct model *model, const char *name, size_t length);

/* One of its settings, with the time at which it was made; value NULL: as if it had not been
 * set. */
void adapters_set_value(struct model *model, const char *name, size_t length,
			enum adapter_file kind, const float *value, const struct timespec *mtime);

/* Slots show what adapters make of them now. */
void adapters_refresh(struct model *model);

/* Are there halves that were copied in? */
bool adapters_has_copied(struct model *model);

/* Their alpha, where it was set, by a user or as a donor says. False: it was not. */
bool adapters_copied_alpha(struct model *model, float *alpha);

/* A donor says that alpha. Is it another one than the last that was noted? */
bool adapters_note_alpha(struct model *model, float alpha);

struct adapter_line {
	char *name;	  /* of its file in adapters/: "NAME.gguf", or "lora" of copied pairs */
	float scale;	  /* the product is multiplied by it */
	uint32_t touched; /* tensors that it changes */
	uint32_t halves;  /* of copied pairs: of which the other half is missing */
	uint64_t bytes;	  /* of its tensors */
	struct timespec mtime;
	char *file;   /* where it lies, or leads; NULL: of copied pairs */
	char *broken; /* NULL, or why it cannot be read */
};

/* A link or setting that the user made. */
struct adapter_set {
	char file[NAME_MAX + 1];
	struct adapter_attr shown; /* with a reference to its link */
};

/* The adapters of a model at one moment, for texts. */
struct adapter_list {
	uint32_t n, broken, n_set;
	struct adapter_line *lines; /* in the order in which they are merged */
	struct adapter_set *set;    /* by the names of adapters */
};

/* All adapters in force. NULL: out of memory. */
struct adapter_list *adapters_list(struct model *model);
void adapter_list_free(struct adapter_list *list); /* NULL is fine */

#endif
