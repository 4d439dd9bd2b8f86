/* SPDX-License-Identifier: MIT */
/* types_list.h - .types: the ggml type of every tensor, one line each, "CLASS/NAME.bin TYPE". The
 * same lines, written back, choose these types (fs/edit/type_lines.h). */
#ifndef FS_FILES_TYPES_LIST_H
#define FS_FILES_TYPES_LIST_H

struct model;
struct snapshot;
struct view;

/* NULL: out of memory. */
struct view *types_list_view(struct model *model, const struct snapshot *snapshot);

#endif
