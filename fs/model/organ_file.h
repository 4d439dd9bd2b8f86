/* SPDX-License-Identifier: MIT */
/* organ_file.h - organ files of slots. In all functions content is the slot's, or NULL for the
 * base's. */
#ifndef FS_MODEL_ORGAN_FILE_H
#define FS_MODEL_ORGAN_FILE_H

#include "fs/tensor/organ_views.h"

struct content;
struct model;

/* Location of the organ: file and offset of its data. content must not be a whiteout. */
struct organ_location organ_file_locate(const struct model *model, uint32_t tensor,
					const struct content *content);

/* View of the organ file. content must not be a whiteout. NULL: out of memory. */
struct view *organ_file_view(struct model *model, uint32_t tensor, const struct content *content);

/* Size of the organ file in bytes. */
uint64_t organ_file_size(const struct model *model, uint32_t tensor, const struct content *content);

/* Number of experts in the content, by the slot's name; 0 for a whiteout. */
uint32_t organ_file_experts(const struct model *model, uint32_t tensor,
			    const struct content *content);

/* Does the content exist in that form, with the importance matrix in force? */
bool organ_file_has_view(const struct model *model, uint32_t tensor, const struct content *content,
			 enum organ_view form);

#endif
