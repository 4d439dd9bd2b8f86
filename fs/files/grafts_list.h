/* SPDX-License-Identifier: MIT */
/* grafts_list.h - text files about the grafts in force: .grafts describes them, .undo lists the
 * words that undo them. */
#ifndef FS_FILES_GRAFTS_LIST_H
#define FS_FILES_GRAFTS_LIST_H

struct model;
struct snapshot;
struct view;

/* .grafts: a line for each graft in force, in file order of the tensors, for each metadata key that
 * is edited, removed or added, and for each adapter, in the order of merging. Fields between tabs:
 *
 *	file | how | ggml type | shape | bytes of data | tensor name in its header | time |
 *	donor's file | donor's tensor
 *
 * A key's line has the type and bytes of its value, and neither shape nor tensor. A tensor that
 * adapters change is "merged", a graft that they change "copy merged" and so on. An adapter's line
 * has its scale as type, the number of tensors that it changes as shape, and a link's target as
 * donor's file; "adapters/lora" are the pairs that were copied in.
 *
 * A name's bytes outside printable ASCII, and '%', are percent-encoded; the time is ISO 8601, UTC;
 * an unknown field is "-". NULL: out of memory. */
struct view *grafts_list_view(struct model *model, const struct snapshot *snapshot);

/* .undo: one line "# WORD\tWHAT" for each change that can be undone, with "\tFILE" for the source
 * of an organ or link. Every line begins with "# ", so that the text undoes nothing if it is
 * written to .undo itself, as a copy of a whole tree does (written_words.h). NULL: out of
 * memory. */
struct view *grafts_list_undo(struct model *model, const struct snapshot *snapshot);

#endif
