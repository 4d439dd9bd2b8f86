/* SPDX-License-Identifier: MIT */
/* journal.h - order of the changes of a model: a change is checked, made durable in the layer and
 * published before the next change of the same slot begins.
 *
 * Part of the lock order in fs/README.md: the turn of struct symlinks, experts_lock of a model,
 * lock of a struct stage, commit of a journal (of two models first that of the lower number), then
 * the locks inside model, slots, metadata and adapters, whose holders call no function here. */
#ifndef FS_EDIT_JOURNAL_H
#define FS_EDIT_JOURNAL_H

#include "gguf/anatomy.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct snapshot;

/* Begin a change: wait until no graft waits for the disk, and lock commit. End it: unlock commit,
 * then call the model's listener. The caller may hold commit of another model. */
void journal_begin(struct model *model);
void journal_end(struct model *model);

/* A graft of one slot. Grafts of other slots need not wait for it, so that several share one wait
 * for the disk. journal_begin_graft() waits until no other graft of the slot is under way, and
 * locks commit; journal_end() must follow. In between, journal_wait() unlocks commit while the
 * thread waits for the disk, and journal_resume() locks it again; until then no other thread
 * changes the slot and no journal_begin() returns. A thread waiting in journal_begin() has priority
 * over new grafts. name is borrowed until journal_resume(). */
struct journal_graft {
	struct journal_graft *next;
	enum organ_class klass;
	const char *name;
};
void journal_begin_graft(struct model *model, struct journal_graft *graft, enum organ_class klass,
			 const char *name);
void journal_wait(struct model *model, struct journal_graft *graft);
void journal_resume(struct model *model, struct journal_graft *graft);

/* The functions below, except journal_snapshot(), are called with commit held or before the
 * mount. */

/* May this thread change the model now? Returns 0, or -EBUSY while another thread replays a
 * recipe. */
int journal_check(const struct model *model);

/* Reserve changes of the model for this thread until journal_end_replay(). Returns 0, or -errno as
 * journal_check(). */
int journal_begin_replay(struct model *model);
void journal_end_replay(struct model *model);

/* Bracket a publication in several steps: journal_snapshot() waits until it ends. */
void journal_begin_publish(struct model *model);
void journal_end_publish(struct model *model);

/* Call adapters_refresh() after a change of the importance matrix. It changes the results of a
 * merge first, then those of adapters; no snapshot is taken between the two. */
void journal_refresh(struct model *model);

/* Take model_snapshot(), but not amid a publication. The caller does not hold commit. */
int journal_snapshot(struct model *model, struct snapshot *snapshot);

/* Must a removal leave a whiteout, because the slot would hold a tensor without a graft? */
bool journal_needs_whiteout(struct model *model, uint32_t slot);

/* Row by which the layer empties a slot, under the model's name for it. With an added slot, its
 * chosen type goes too. */
struct layer_undone journal_emptied(struct model *model, uint32_t slot);

/* Record in the layer that the slot or key is empty: a whiteout for one of the base, no row for an
 * added one. Returns as layer_undo(): 0 or -errno. */
int journal_empty_slot(struct model *model, uint32_t slot);
int journal_empty_key(struct model *model, uint32_t i);

#endif
