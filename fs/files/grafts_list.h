/* SPDX-License-Identifier: MIT */
/* grafts_list.h - the grafts in force, as lines of text: what they are, what undoes them. */
#ifndef FS_FILES_GRAFTS_LIST_H
#define FS_FILES_GRAFTS_LIST_H

struct model;
struct snapshot;
struct view;

/* .grafts: one line a graft in force, in file order of the tensors, then one a metadata key that is
 * edited, removed or added, then one an adapter, in the order in which they are merged. Fields,
 * separated by tabs:
 *
 *	file | how | ggml type | shape | bytes of data | tensor name in its header | time |
 *	donor's file | donor's tensor
 *
 * Of a key the type is that of its value, the bytes are the value's, and there is no shape and no
 * tensor. A tensor that adapters change is "merged", a graft that they change "copy merged" and so
 * on. Of an adapter the type is its scale, the shape the number of tensors that it changes, and the
 * donor's file where a link leads; "adapters/lora" are the pairs that were copied in.
 *
 * A name's bytes outside printable ASCII, and '%', stand percent-encoded; the time is ISO 8601 in
 * UTC; a field not known is "-". NULL: out of memory. */
struct view *grafts_list_view(struct model *model, const struct snapshot *snapshot);

/* .undo: what could be undone, one line each, "# WORD\tWHAT", and of an organ or link "\tFILE" that
 * it came from. Every line begins with "# ", so that the text undoes nothing where it is written to
 * .undo itself, as a copy of a whole tree does (undo_words.h). NULL: out of memory. */
struct view *grafts_list_undo(struct model *model, const struct snapshot *snapshot);

#endif
