/* SPDX-License-Identifier: MIT */
/* undo_list.h - .undo: what could be undone, one line each, "# WORD\tWHAT", and of an organ or link
 * "\tFILE" that it came from. Every line begins with "# ", so that the text undoes nothing where it
 * is written to .undo itself, as a copy of a whole tree does (undo_words.h). */
#ifndef FS_FILES_UNDO_LIST_H
#define FS_FILES_UNDO_LIST_H

#include "fs/model/model.h"
#include "fs/storage/view.h"

/* NULL: out of memory. */
struct view *undo_list(struct model *model, const struct snapshot *snapshot);

#endif
