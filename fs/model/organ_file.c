/* SPDX-License-Identifier: MIT */
/* files.c - see files.h. */
#include "fs/model/organ_file.h"
#include "fs/tensor/expert_slice.h"

uint64_t files_organ_size(const struct model *model, uint32_t tensor, const struct content *content)
{
	const struct organ organ = model_organ(model, tensor, content);

	return organ.header_size + organ.data_size;
}

struct located files_locate(const struct model *model, uint32_t tensor,
			    const struct content *content)
{
	return (struct located){
		.organ = model_organ(model, tensor, content),
		.file = content ? content->file : model->base,
		.offset = content ? content->offset : model->gguf->tensors[tensor].offset,
	};
}

struct view *files_organ(struct model *model, uint32_t tensor, const struct content *content)
{
	const struct located located = files_locate(model, tensor, content);

	return located_view(&located);
}

/* Its organ under the name of the slot, whatever name it has itself. */
static struct organ organ_in_place(const struct model *model, uint32_t tensor,
				   const struct content *content)
{
	struct organ organ = model_organ(model, tensor, content);

	organ.name = model->places[tensor].tensor;
	organ.name_length = model->places[tensor].tensor_length;
	return organ;
}

uint32_t files_experts(const struct model *model, uint32_t tensor, const struct content *content)
{
	struct organ organ;

	if (content_is_nothing(content))
		return 0;
	organ = organ_in_place(model, tensor, content);
	return experts_count(&organ);
}

bool files_has_form(const struct model *model, uint32_t tensor, const struct content *content,
		    enum form form)
{
	struct organ organ;

	if (content_is_nothing(content))
		return false;
	organ = organ_in_place(model, tensor, content);
	return form_has(form, &organ);
}
