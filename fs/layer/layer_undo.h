/* SPDX-License-Identifier: MIT */
/* layer_undo.h - several things that a layer says, taken back in one step.
 *
 *	UNDOING		text: a line each, "CLASS/NAME.bin", "metadata/NAME" or a setting's or
 *			link's "adapters/FILE", percent-encoded as in a reference
 *
 * 1. The note is written first, durably: from then on the layer does not say any of it, though the
 *    files are there yet. They go, the directories are made durable, and then the note goes.
 * 2. So a crash leaves all of it, or a note by which the next mount takes the rest of it back.
 * 3. Nothing else may be changed while there is a note: it could be taken back too.
 * 4. A full disk has no room for a note: there the files go one after the other. */
#ifndef FS_LAYER_LAYER_UNDO_H
#define FS_LAYER_LAYER_UNDO_H

#include "gguf/anatomy.h"

#include <stdio.h>

struct layer;

/* A line of a note. */
struct layer_undone {
	bool is_key; /* of the metadata; else of that class */
	enum organ_class klass;
	const char *file;
};
void layer_undone_print(const struct layer_undone *undone, FILE *out);

/* Call each for the lines of a note, which is cut to pieces. Returns 0, or -EBADMSG if it is none,
 * perhaps after some calls. */
typedef void layer_undone_fn(void *context, const struct layer_undone *undone);
int layer_undone_each(char *note, layer_undone_fn *each, void *context);

/* From now on the layer says nothing of all that, of files that are still to come neither; durable.
 * Returns 0, or -errno: it says all of it as before, as far as the disk allows. Either way
 * layer_undo_finish() is due, before anything else changes, unless the note is to be taken back by
 * layer_undo_cancel(): what came in between stays then. Returns 0 or -errno; after a failure
 * layer_undo_finish() is due, which tries it again. */
int layer_undo(struct layer *layer, const char *note);
int layer_undo_cancel(struct layer *layer);

/* layer_undo() without a note, one line after the other, and finished: it needs no space. A failure
 * leaves the first lines undone, *done bytes of the note, and a crash any. Returns 0 or -errno. */
int layer_undo_in_turn(struct layer *layer, const char *note, size_t *done);

/* The note that is there, to free. NULL: *rc 0 there is none, or -errno. */
char *layer_undo_read(struct layer *layer, int *rc);

/* Remove the files of which there is a note, unless layer_undo() has failed, then the note. One
 * thread at a time calls this or layer_undo(). Returns 0, also where there is none, or
 * -errno: it may still be there. -EBADMSG it is none, -EROFS: nothing is removed. */
int layer_undo_finish(struct layer *layer);

#endif
