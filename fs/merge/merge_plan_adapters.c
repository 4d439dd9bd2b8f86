/* SPDX-License-Identifier: MIT */
/* merge_plan_adapters.c - see merge_plan_internal.h: adapters merged into a model before the model
 * is merged with others. Rows of the model's tensor with its pair are computed as floats when rows
 * of the merge are. */
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "fs/tensor/lora_merge.h"
#include "fs/tensor/matrix_cache.h"
#include "fs/util/array_grown.h"
#include "gguf/organ.h"
#include "gguf/pair.h"
#include "gguf/reader.h"
#include "measure/lora.h"

#include <string.h>

/* Find a half of the tensor's pair, or NULL; its name is left in planner->scratch. */
static const struct gguf_tensor *find_half(const struct planner *planner,
					   const struct plan_model *adapter, const char *name,
					   size_t length, enum pair_half half)
{
	if (length + strlen(".lora_a") > PLAN_NAME_MAX)
		return NULL;
	memcpy(planner->scratch, name, length);
	strcpy(planner->scratch + length, half == PAIR_A ? ".lora_a" : ".lora_b");
	return gguf_tensor(adapter->gguf, planner->scratch, (uint32_t)(length + strlen(".lora_a")));
}

/* Check that a tensor of an adapter is half of a pair that fits the model. */
static int check_half(const struct planner *planner, const struct plan_model *model,
		      const struct plan_model *adapter, const struct gguf_tensor *half)
{
	size_t n;
	const enum pair_half which = pair_half(half->name, half->name_length, &n);
	const struct gguf_tensor *target = gguf_tensor(model->gguf, half->name, (uint32_t)n);
	const struct gguf_tensor *a, *b;
	struct organ organs[3];
	struct error why = { 0 };

	if (which == PAIR_NONE)
		return plan_refuse(planner, adapter,
				   "%.100s of \"%.60s\" is not half of a low-rank pair", half->name,
				   adapter->name);
	if (!target)
		return plan_refuse(planner, adapter,
				   "\"%.60s\" has no %.*s, which \"%.60s\" changes", model->name,
				   (int)(n < 80 ? n : 80), half->name, adapter->name);
	a = find_half(planner, adapter, half->name, n, PAIR_A);
	b = find_half(planner, adapter, half->name, n, PAIR_B);
	if (!a || !b)
		return plan_refuse(planner, adapter, "%.100s of \"%.60s\" has no other half",
				   half->name, adapter->name);
	organs[0] = organ_of_tensor(target);
	organs[1] = organ_of_tensor(a);
	organs[2] = organ_of_tensor(b);
	if (pair_fits(&organs[0], &organs[1], &organs[2], &why) < 0)
		return plan_refuse(planner, adapter, "%.80s of \"%.60s\": %.140s", half->name,
				   adapter->name, why.text);
	return 0;
}

static int check_adapter(const struct planner *planner, const char *model, const char *lora)
{
	const struct plan_model *adapted = plan_model_named(planner, model);
	const struct plan_model *adapter = plan_model_named(planner, lora);
	int rc = 0;

	if (adapter && adapter->gguf->n_tensors == 0)
		return plan_refuse(planner, adapter, "there are no tensors in \"%.100s\"",
				   adapter->name);
	for (uint32_t i = 0; adapter && rc == 0 && i < adapter->gguf->n_tensors; i++)
		rc = check_half(planner, adapted, adapter, &adapter->gguf->tensors[i]);
	return rc;
}

int plan_check_adapters(const struct planner *planner)
{
	const struct merge_config *config = planner->config;
	int rc = check_adapter(planner, config->base_model.model, config->base_model.lora);

	for (size_t i = 0; rc == 0 && i < config->n; i++) {
		const struct merge_base_model *base = &config->slices[i].base_model;

		rc = check_adapter(planner, base->model, base->lora);
		for (size_t k = 0; rc == 0 && k < config->slices[i].n; k++)
			rc = check_adapter(planner, config->slices[i].sources[k].model,
					   config->slices[i].sources[k].lora);
	}
	return rc;
}

/* Give a file to the plan, which takes over the reference. */
static int keep(struct planner *planner, struct backing *file)
{
	struct merge_plan *plan = planner->plan;
	struct backing **more = file ? array_grown(plan->adapted, plan->n_adapted,
						   &planner->adapted_room, sizeof(*more))
				     : NULL;

	if (!more) {
		backing_unref(file);
		return plan_out_of_memory(planner);
	}
	plan->adapted = more;
	more[plan->n_adapted++] = file;
	return 0;
}

int plan_adapt(struct planner *planner, const struct plan_model *adapter,
	       const struct gguf_tensor *tensor, struct merge_data *data)
{
	const bool flipped = pair_is_flipped(tensor->name, tensor->name_length);
	struct lora_merge merge = { .w = { data->file, data->offset, data->type },
				    .type = GGML_F32,
				    .n = 1 };
	const struct gguf_tensor *a, *b;
	const struct lora_merge *kept;
	struct backing *file;
	struct organ organ;

	if (!adapter)
		return 0;
	a = find_half(planner, adapter, tensor->name, tensor->name_length, PAIR_A);
	b = find_half(planner, adapter, tensor->name, tensor->name_length, PAIR_B);
	if (!a || !b)
		return 0;
	organ = organ_of_tensor(a);
	memcpy(merge.ne, tensor->ne, sizeof(merge.ne));
	merge.pairs[0] = (struct lora_merge_pair){ .a = { adapter->file, a->offset, a->type },
						   .b = { adapter->file, b->offset, b->type },
						   .rank = pair_rank(&organ, flipped),
						   .flipped = flipped };
	merge.pairs[0].factor =
		lora_factor(1.0f, pair_alpha(adapter->gguf), (size_t)merge.pairs[0].rank);
	if (!planner->plan->matrices)
		planner->plan->matrices = matrix_cache_new();
	file = planner->plan->matrices ? lora_merge_new(&merge, planner->plan->matrices, &kept)
				       : NULL;
	*data = (struct merge_data){ file, 0, GGML_F32 };
	return keep(planner, file);
}
