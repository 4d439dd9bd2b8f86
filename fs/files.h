/* SPDX-License-Identifier: MIT */
/* files.h - the views of files whose bytes are a model's: organ files and the assembled model. */
#ifndef FS_FILES_H
#define FS_FILES_H

#include "fs/model.h"
#include "fs/view.h"

/* An organ, and where its data lie; all is borrowed. */
struct located {
	struct organ organ;
	struct backing *file;
	uint64_t offset; /* of the data in it */
};

/* What a slot holds: the base's for content NULL, else that graft, which is not nothing. */
struct located files_locate(const struct model *model, uint32_t tensor,
			    const struct content *content);

/* Such a thing as an organ file. NULL: no memory. */
struct view *files_view(const struct located *located);

/* The organ file of a slot: the base's for content NULL, else that of the graft, which is not
 * nothing. NULL: no memory. */
struct view *files_organ(struct model *model, uint32_t tensor, const struct content *content);

/* Its size in bytes, without making it. */
uint64_t files_organ_size(const struct model *model, uint32_t tensor,
			  const struct content *content);

/* The assembled model with the slots of that snapshot; where its blocks have gaps, with the
 * metadata of the base, or if strict not at all. NULL with err set: as layout_build() and
 * follow_blocks(). */
struct view *files_model(struct model *model, const struct snapshot *snapshot, bool strict,
			 struct error *err);

#endif
