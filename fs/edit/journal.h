/* SPDX-License-Identifier: MIT */
/* journal.h - changes of a model go into its layer in an order: each is checked, made durable and
 * then shown before the next one of the same slot.
 *
 * A thread takes locks in this order: the turn of struct symlinks, experts_lock of a model, the
 * lock of a struct stage, commit of a journal (of two models first that of the lower number), and
 * then those inside model, slots, metadata and adapters, under which nothing here is called. */
#ifndef FS_EDIT_JOURNAL_H
#define FS_EDIT_JOURNAL_H

#include "gguf/anatomy.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct snapshot;

/* Lock commit, with no graft on its way to the disk; and unlock it, then call the model's listener.
 * The caller may still hold commit of another model. */
void journal_begin(struct model *model);
void journal_end(struct model *model);

/* A graft of one slot, for which others of other slots need not wait: several wait for the disk
 * together. journal_begin_graft() locks commit, with no graft of that slot on its way;
 * journal_end() is due. Between the two journal_wait() unlocks it while the thread waits for the
 * disk, and journal_resume() locks it again: until then nothing else changes the slot, and no
 * journal_begin() returns. A thread that waits in journal_begin() goes before new grafts. name is
 * borrowed until then. */
struct journal_graft {
	struct journal_graft *next;
	enum organ_class klass;
	const char *name;
};
void journal_begin_graft(struct model *model, struct journal_graft *graft, enum organ_class klass,
			 const char *name);
void journal_wait(struct model *model, struct journal_graft *graft);
void journal_resume(struct model *model, struct journal_graft *graft);

/* All below are called with commit held, or before the mount. */

/* May this thread change the model now? Returns 0, or -EBUSY: another thread is between the two
 * calls that follow. */
int journal_check(const struct model *model);

/* From now on until journal_end_replay() only this thread changes the model. Returns 0, or
 * -errno as journal_check(). */
int journal_begin_replay(struct model *model);
void journal_end_replay(struct model *model);

/* Meanwhile the model is half of what it will be: journal_snapshot() waits. */
void journal_begin_publish(struct model *model);
void journal_end_publish(struct model *model);

/* With commit held: adapters_refresh() after a change of the importance matrix. It changes the
 * results of a merge first, then those of adapters; no snapshot is taken between the two. */
void journal_refresh(struct model *model);

/* Without commit held: model_snapshot() of a model that is not half of what it will be. */
int journal_snapshot(struct model *model, struct snapshot *snapshot);

/* Without a graft, does the slot hold something that a removal hides? */
bool journal_needs_whiteout(struct model *model, uint32_t slot);

/* A slot without its content as the layer is to have it, under the model's name for it. An added
 * slot is there no more, and the type chosen for it goes with it. */
struct layer_undone journal_emptied(struct model *model, uint32_t slot);

/* The layer says that the slot, or key, holds nothing: what the base has is whited out, what was
 * added is forgotten. Both as layer_undo(). Returns 0 or -errno. */
int journal_empty_slot(struct model *model, uint32_t slot);
int journal_empty_key(struct model *model, uint32_t i);

#endif
