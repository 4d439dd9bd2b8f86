/* SPDX-License-Identifier: MIT */
/* organ_file.h - what the slots of a model hold, as organ files. */
#ifndef FS_MODEL_ORGAN_FILE_H
#define FS_MODEL_ORGAN_FILE_H

#include "fs/tensor/organ_views.h"

struct content;
struct model;

/* What a slot holds: the base's for content NULL, else that graft, which is not nothing. */
struct organ_location organ_file_locate(const struct model *model, uint32_t tensor,
					const struct content *content);

/* The organ file of a slot: the base's for content NULL, else that of the graft, which is not
 * nothing. NULL: no memory. */
struct view *organ_file_view(struct model *model, uint32_t tensor, const struct content *content);

/* Its size in bytes, without making it. */
uint64_t organ_file_size(const struct model *model, uint32_t tensor, const struct content *content);

/* How many experts are in what a slot holds, whatever name that has itself: the base's for content
 * NULL, else that graft. */
uint32_t organ_file_experts(const struct model *model, uint32_t tensor,
			    const struct content *content);

/* Does the content of a slot, the base's for NULL, exist in that form with the importance matrix
 * that is in force? */
bool organ_file_has_view(const struct model *model, uint32_t tensor, const struct content *content,
			 enum organ_view form);

#endif
