/* SPDX-License-Identifier: MIT */
/* undo.h - changes of a model undone in one step: grafts, removals, metadata, adapters. */
#ifndef FS_EDIT_UNDO_H
#define FS_EDIT_UNDO_H

struct model;

/* Undo what the lines of words say, which is cut to pieces:
 *
 *	all		everything
 *	CLASS		organ files of that class; of adapters also links and settings
 *	metadata	all keys
 *	CLASS/FILE	that file; metadata/KEY and adapters/FILE too, as .undo has them
 *	NAME		the organ file of that name, with or without ".bin"
 *
 * What stands behind a tab is not looked at, and empty lines say nothing. All of it is undone, also
 * after a crash, or nothing, but for a full disk: there the changes go one after the other, and a
 * failure leaves some undone. Content that is as in the base stays so. Returns 0, or -errno with a
 * line in the log: -EINVAL there is no such thing. */
int undo(struct model *model, char *words);

/* Check that undo() would find all that the words name; they are cut to pieces. Returns 0 or
 * -errno, -EINVAL with a line in the log. */
int undo_judge(struct model *model, char *words);

struct undo_ready;

/* Finish what an earlier mount began to undo. The first before anything of the layer is taken up,
 * the other one after that: where the disk cannot do it, the model is as if it could. */
void undo_finish(struct model *model);
void undo_recover(struct model *model);

/* What taking back what a note says (layer_undo()) will need, so that it cannot fail for lack of
 * memory, also of slots that are still to be added. NULL: out of memory. */
struct undo_ready *undo_ready_new(const char *note);
void undo_ready_free(struct undo_ready *ready); /* NULL is fine */

/* With the commit lock held: what the layer's note says is taken back, from the model at once, from
 * the layer now or before the next change. ready is for that note, and used up but for freeing. */
void undo_take_back(struct model *model, struct undo_ready *ready);

#endif
