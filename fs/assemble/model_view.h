/* SPDX-License-Identifier: MIT */
/* model_view.h - the assembled model as a view, which model.gguf shows and an assembly writes. */
#ifndef FS_ASSEMBLE_MODEL_VIEW_H
#define FS_ASSEMBLE_MODEL_VIEW_H

#include <stdbool.h>

struct error;
struct model;
struct snapshot;
struct view;

/* The assembled model at the snapshot. If its blocks have gaps, it has the base's metadata, or
 * fails if strict. NULL with err set as by layout_build() and block_metadata_find(). */
struct view *model_view(struct model *model, const struct snapshot *snapshot, bool strict,
			struct error *err);

/* model_view() without strict, or without lineage model_view_without_lineage(), without the
 * tensors' bytes; gather.h joins it with organ files again. */
struct view *model_view_header(struct model *model, const struct snapshot *snapshot, bool lineage,
			       struct error *err);

/* Like model_view() without strict and without a lineage, also for a snapshot of unknown
 * generation. NULL with err set; err may be NULL. */
struct view *model_view_without_lineage(struct model *model, const struct snapshot *snapshot,
					struct error *err);

#endif
