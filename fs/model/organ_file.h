/* SPDX-License-Identifier: MIT */
/* files.h - what the slots of a model hold, as organ files. */
#ifndef FS_FILES_H
#define FS_FILES_H

#include "fs/model/model.h"
#include "fs/tensor/located.h"
#include "fs/tensor/organ_views.h"

/* What a slot holds: the base's for content NULL, else that graft, which is not nothing. */
struct located files_locate(const struct model *model, uint32_t tensor,
			    const struct content *content);

/* The organ file of a slot: the base's for content NULL, else that of the graft, which is not
 * nothing. NULL: no memory. */
struct view *files_organ(struct model *model, uint32_t tensor, const struct content *content);

/* Its size in bytes, without making it. */
uint64_t files_organ_size(const struct model *model, uint32_t tensor,
			  const struct content *content);

/* How many experts are in what a slot holds, whatever name that has itself: the base's for content
 * NULL, else that graft. */
uint32_t files_experts(const struct model *model, uint32_t tensor, const struct content *content);

/* Is there in that form what a slot holds: the base's for content NULL, else that graft? */
bool files_has_form(const struct model *model, uint32_t tensor, const struct content *content,
		    enum form form);

#endif
