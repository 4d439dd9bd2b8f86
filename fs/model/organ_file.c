/* SPDX-License-Identifier: MIT */
/* organ_file.c - see organ_file.h. */
#include "fs/model/organ_file.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/importance_matrix.h"
#include "gguf/reader.h"

uint64_t organ_file_size(const struct model *model, uint32_t tensor, const struct content *content)
{
	const struct organ organ = model_organ(model, tensor, content);

	return organ.header_size + organ.data_size;
}

struct organ_location organ_file_locate(const struct model *model, uint32_t tensor,
					const struct content *content)
{
	return (struct organ_location){
		.organ = model_organ(model, tensor, content),
		.file = content ? content->file : model->base,
		.offset = content ? content->offset : model->gguf->tensors[tensor].offset,
	};
}

struct view *organ_file_view(struct model *model, uint32_t tensor, const struct content *content)
{
	const struct organ_location located = organ_file_locate(model, tensor, content);

	return organ_location_view(&located);
}

uint32_t organ_file_experts(const struct model *model, uint32_t tensor,
			    const struct content *content)
{
	struct organ organ;

	if (content_is_whiteout(content))
		return 0;
	organ = model_organ_in_place(model, tensor, content);
	return expert_slice_count(&organ);
}

bool organ_file_has_view(const struct model *model, uint32_t tensor, const struct content *content,
			 enum organ_view form)
{
	struct importance_matrix *importance;
	struct organ organ;
	bool exists;

	if (content_is_whiteout(content))
		return false;
	organ = model_organ_in_place(model, tensor, content);
	importance = adapters_importance(model);
	exists = organ_view_exists(form, &organ, importance);
	importance_matrix_unref(importance);
	return exists;
}
