/* SPDX-License-Identifier: MIT */
/* merge_plan_more.c - see merge_plan_internal.h: refuses tensors of a model that the result would
 * lack. Counts are compared first, since models rarely differ. */
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"

/* Is the tensor one of the weights to count at this place? */
static bool is_counted(const struct plan_place *at, enum merge_outside outside,
		       const struct gguf_tensor *tensor)
{
	return plan_is_weight(tensor) && (at->place.blocks || plan_outside_of(tensor) == outside);
}

static size_t count(const struct plan_place *at, enum merge_outside outside,
		    const struct plan_model *model, uint64_t block)
{
	size_t n, counted = 0;
	const uint32_t *numbers = plan_model_block(model, block, &n);

	for (size_t i = 0; i < n; i++)
		counted += is_counted(at, outside, &model->gguf->tensors[numbers[i]]);
	return counted;
}

/* The first tensor that the leader lacks, or NULL. */
static const struct gguf_tensor *find_more(const struct planner *planner,
					   const struct plan_place *at, enum merge_outside outside,
					   const struct plan_model *model, uint64_t block,
					   const struct plan_model *leader, uint64_t leader_block)
{
	size_t n;
	const uint32_t *numbers = plan_model_block(model, block, &n);

	for (size_t i = 0; i < n; i++) {
		const struct gguf_tensor *tensor = &model->gguf->tensors[numbers[i]];
		const char *name = tensor->name;
		uint32_t length = tensor->name_length;
		uint64_t own;
		const size_t prefix = plan_block_prefix(tensor, &own);

		if (prefix) {
			length = plan_name_in_block(planner, name, length, prefix, leader_block);
			name = planner->scratch;
		}
		if (is_counted(at, outside, tensor) && !gguf_tensor(leader->gguf, name, length))
			return tensor;
	}
	return NULL;
}

int plan_check_no_more(struct planner *planner, const struct plan_place *at,
		       const struct plan_model *leader, uint64_t leader_block,
		       enum merge_outside outside)
{
	const size_t counted = count(at, outside, leader, leader_block);

	for (size_t i = 0; i < at->slice->n; i++) {
		const struct plan_model *model = at->sources[i];
		const uint64_t block =
			at->place.blocks ? plan_source_block(planner, at, i) : model->blocks;
		const struct gguf_tensor *more;

		/* The others have all tensors of the leader, so equal counts mean equal sets. */
		if (model == leader || count(at, outside, model, block) == counted)
			continue;
		more = find_more(planner, at, outside, model, block, leader, leader_block);
		if (more)
			return plan_refuse(planner, model,
					   "\"%.60s\" has %.80s, and \"%.60s\" has none",
					   model->name, more->name,
					   leader->name ? leader->name
							: backing_path(leader->file));
	}
	return 0;
}
