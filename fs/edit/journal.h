/* SPDX-License-Identifier: MIT */
/* journal.h - changes of a model go into its layer one at a time, and what a crash or a failing
 * disk left half done is finished before the next one.
 *
 * A thread takes locks in this order: the turn of struct symlinks, experts_lock of a model, the
 * lock of a struct stage, commit of a journal (of two models first that of the lower number), and
 * then those inside model, slots, metadata and adapters, under which nothing here is called. */
#ifndef FS_EDIT_JOURNAL_H
#define FS_EDIT_JOURNAL_H

#include "fs/model/model.h"

/* Lock and unlock commit. */
void journal_begin(struct model *model);
void journal_end(struct model *model);

/* All below are called with commit held, or before the mount. */

/* Before anything else changes: finish what is half done. Returns 0 or -errno: EIO an earlier mount
 * left what cannot be finished, EBUSY another thread is between the two calls that follow. */
int journal_finish_pending(struct model *model);

/* From now on until journal_end_replay() only this thread changes the model. Returns 0, or
 * -errno as journal_finish_pending(). */
int journal_begin_replay(struct model *model);
void journal_end_replay(struct model *model);

/* A move is noted in the layer, so that the next mount can finish it. Returns 0 or -errno; either
 * way journal_end_move() is due. */
int journal_note_move(struct model *model, const char *directory, const char *name,
		      const char *new_directory, const char *new_name);

/* The move is done or was refused. What it could not remove from the layer, of that number, is left
 * to journal_finish_pending(), and the note stays as long. */
void journal_end_move(struct model *model, enum journal_left left, uint32_t number);

/* The layer says that the slot, or key, holds nothing: what the base has is whited out, what was
 * added is forgotten. Returns 0 or -errno. */
int journal_empty_slot(struct model *model, uint32_t slot);
int journal_empty_key(struct model *model, uint32_t i);

#endif
