/* SPDX-License-Identifier: MIT */
/* model_view.h - the assembled model as a view: what model.gguf shows and an assembly writes. */
#ifndef FS_ASSEMBLE_MODEL_VIEW_H
#define FS_ASSEMBLE_MODEL_VIEW_H

#include <stdbool.h>

struct error;
struct model;
struct snapshot;
struct view;

/* The assembled model with the slots of that snapshot; where its blocks have gaps, with the
 * metadata of the base, or if strict not at all. NULL with err set: as layout_build() and
 * block_metadata_find(). */
struct view *model_view(struct model *model, const struct snapshot *snapshot, bool strict,
			struct error *err);

/* model_view() without strict, or model_view_without_lineage(), without the bytes of the tensors,
 * which gather.h puts together again with organ files. */
struct view *model_view_header(struct model *model, const struct snapshot *snapshot, bool lineage,
			       struct error *err);

/* As model_view() without strict, also for a snapshot whose generation is not known: the header
 * does not say how the model was made. NULL with err set; err may be NULL. */
struct view *model_view_without_lineage(struct model *model, const struct snapshot *snapshot,
					struct error *err);

#endif
