/* SPDX-License-Identifier: MIT */
/* merge_plan.c - see merge_plan.h. A leader gives each tensor of the result its name, and so its
 * place: the host if whole models are merged, else a source of the slice. The plan walks the blocks
 * of the slices in order, so that each tensor is looked up once per source. */
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_note.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "fs/tensor/matrix_cache.h"
#include "fs/util/array_grown.h"
#include "gguf/arena.h"
#include "gguf/names.h"
#include "gguf/reader.h"

#include <stdlib.h>
#include <string.h>

/* Most tensors of a result that the host lacks. */
#define ADDED_MAX ((size_t)65536)

int plan_out_of_memory(const struct planner *planner)
{
	return error_set(planner->err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
}

int plan_go_on(const struct planner *planner)
{
	if (!planner->params->stop || !atomic_load(planner->params->stop))
		return 0;
	return error_set(planner->err, EINTR, ERROR_NO_OFFSET, "it was interrupted");
}

/* List the host's tensors, all marked as gone until the plan finds their place in the result. */
static int list_form(struct planner *planner)
{
	const struct gguf *gguf = planner->host.gguf;
	struct merge_plan *plan = planner->plan;

	planner->room = (size_t)gguf->n_tensors + 1;
	plan->tensors = calloc(planner->room, sizeof(*plan->tensors));
	if (!plan->tensors)
		return plan_out_of_memory(planner);
	for (plan->n = 0; plan->n < gguf->n_tensors; plan->n++)
		plan->tensors[plan->n] =
			(struct merge_plan_tensor){ .name = gguf->tensors[plan->n].name,
						    .length = gguf->tensors[plan->n].name_length,
						    .of = (uint32_t)plan->n,
						    .block = -1,
						    .made = MERGE_GONE };
	return 0;
}

/* Append a tensor whose name is in planner->scratch. NULL: out of memory. */
static struct merge_plan_tensor *add_tensor(struct planner *planner, uint32_t length)
{
	struct merge_plan *plan = planner->plan;
	const char *name = arena_copy(plan->arena, planner->scratch, length);
	struct merge_plan_tensor *more =
		name ? array_grown(plan->tensors, plan->n, &planner->room, sizeof(*more)) : NULL;

	if (!more)
		return NULL;
	plan->tensors = more;
	more[plan->n] =
		(struct merge_plan_tensor){ .name = name, .length = length, .of = MERGE_PLAN_NEW };
	return &more[plan->n++];
}

static void set_sources(const struct planner *planner, struct plan_place *at)
{
	const struct merge_base_model *base;

	at->slice = &planner->config->slices[at->place.slice];
	base = merge_config_base(planner->config, at->slice);
	for (size_t i = 0; i < at->slice->n; i++) {
		at->sources[i] = plan_model_named(planner, at->slice->sources[i].model);
		at->loras[i] = plan_model_named(planner, at->slice->sources[i].lora);
	}
	at->base = plan_model_named(planner, base->model);
	at->base_lora = plan_model_named(planner, base->lora);
}

/* Plan the tensors outside the blocks. */

static int plan_outside(struct planner *planner, enum merge_outside outside)
{
	struct plan_place at = { .place = merge_place_outside(planner->config, outside) };
	const struct plan_model *host = &planner->host;
	size_t n;
	const uint32_t *numbers = plan_model_block(host, host->blocks, &n);
	int rc = 0;

	set_sources(planner, &at);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct gguf_tensor *tensor = &host->gguf->tensors[numbers[i]];

		if (plan_outside_of(tensor) == outside)
			rc = plan_tensor(planner, &at, &planner->plan->tensors[numbers[i]], host,
					 tensor);
	}
	return rc == 0 ? plan_check_no_more(planner, &at, host, host->blocks, outside) : rc;
}

/* Plan the result's tensor that takes its name from a tensor of the leader. */
static int plan_block_tensor(struct planner *planner, const struct plan_place *at, uint64_t block,
			     const struct plan_model *leader, const struct gguf_tensor *led)
{
	uint64_t own;
	const size_t prefix = plan_block_prefix(led, &own);
	const uint32_t length =
		plan_name_in_block(planner, led->name, led->name_length, prefix, block);
	const struct gguf *host = planner->host.gguf;
	const struct gguf_tensor *same = gguf_tensor(host, planner->scratch, length);
	struct merge_plan_tensor *result;

	if (length == 0)
		return plan_refuse(planner, at->slice, "the name %.80s would be too long",
				   led->name);
	if (!same && planner->added++ == ADDED_MAX)
		return plan_refuse(planner, at->slice,
				   "the slices up to this one add more than %zu tensors",
				   ADDED_MAX);
	result = same ? &planner->plan->tensors[same - host->tensors] : add_tensor(planner, length);
	if (!result)
		return plan_out_of_memory(planner);
	result->block = (int32_t)own;
	return plan_tensor(planner, at, result, leader, led);
}

/* Plan the block of the result that is at this place in its slice. */
static int plan_block(struct planner *planner, const struct plan_place *at, uint64_t block)
{
	const bool sliced = planner->config->sliced;
	const size_t first = at->slice->base == MERGE_CONFIG_NO_SOURCE ? 0 : at->slice->base;
	const struct plan_model *leader = sliced ? at->sources[first] : &planner->host;
	const uint64_t own =
		sliced ? merge_source_block(planner->config, &at->place, first) : block;
	size_t n;
	const uint32_t *numbers = plan_model_block(leader, own, &n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = plan_block_tensor(planner, at, block, leader,
				       &leader->gguf->tensors[numbers[i]]);
	return rc == 0 ? plan_check_no_more(planner, at, leader, own, MERGE_BEFORE_BLOCKS) : rc;
}

static int plan_blocks(struct planner *planner)
{
	const struct merge_config *config = planner->config;
	uint64_t block = 0;
	int rc = 0;

	for (size_t i = 0; i < config->n; i++) {
		struct plan_place at = { .place = { .slice = i } };

		at.place.blocks = merge_slice_blocks(config, i, planner->host.blocks);
		set_sources(planner, &at);
		for (; rc == 0 && at.place.block < at.place.blocks; at.place.block++)
			rc = plan_block(planner, &at, block++);
	}
	return rc;
}

static int count_blocks(struct planner *planner)
{
	const struct merge_config *config = planner->config;

	planner->plan->blocks = merge_blocks(config, planner->host.blocks);
	if (planner->plan->blocks <= PLAN_BLOCKS_MAX)
		return 0;
	return plan_refuse(planner, &config->slices[config->n - 1],
			   "the slices up to this one have more than %" PRIu64 " blocks",
			   PLAN_BLOCKS_MAX);
}

static int compare_tokenizers(struct planner *planner)
{
	struct merge_plan *plan = planner->plan, *result = planner->result->plan;

	for (size_t i = 0; i < plan->n_models && !result->other_tokenizer; i++) {
		const struct plan_model *model = &planner->models[i];
		const int rc = plan->models[i].is_host || model->is_adapter
				       ? 1
				       : plan_same_tokenizer(&planner->host, model);

		if (rc == -ENOMEM)
			return plan_out_of_memory(planner);
		if (rc < 0)
			return error_set(planner->err, -rc, ERROR_NO_OFFSET,
					 "line %zu, column %zu: the tokenizer of \"%.100s\" "
					 "cannot be read",
					 model->line, model->column, model->name);
		if (rc == 0 &&
		    !(result->other_tokenizer = arena_copy(result->arena, plan->models[i].path,
							   strlen(plan->models[i].path))))
			return plan_out_of_memory(planner);
	}
	return 0;
}

static int make(struct planner *planner)
{
	int rc;

	planner->plan->arena = arena_new();
	planner->scratch = malloc(PLAN_NAME_MAX + 1);
	if (!planner->plan->arena || !planner->scratch)
		return plan_out_of_memory(planner);
	rc = plan_model_index(planner, &planner->host);
	if (rc == 0)
		rc = plan_models_open(planner);
	if (rc == 0)
		rc = count_blocks(planner);
	if (rc == 0)
		rc = list_form(planner);
	if (rc == 0)
		rc = plan_outside(planner, MERGE_BEFORE_BLOCKS);
	if (rc == 0)
		rc = plan_blocks(planner);
	if (rc == 0)
		rc = plan_outside(planner, MERGE_BEHIND_BLOCKS);
	if (rc == 0)
		rc = compare_tokenizers(planner);
	if (rc == 0)
		rc = plan_chat_template(planner);
	return rc == 0 ? plan_list_files(planner) : rc;
}

struct merge_plan *plan_make(struct planner *planner)
{
	struct merge_plan *plan = planner->plan = calloc(1, sizeof(*plan));
	int rc = plan ? make(planner) : plan_out_of_memory(planner);

	for (size_t i = 0; plan && planner->models && i < plan->n_models; i++)
		plan_model_release(&planner->models[i]);
	plan_model_release(&planner->host);
	names_free(planner->names);
	free(planner->models);
	free(planner->scratch);
	if (rc == 0)
		return plan;
	merge_plan_free(plan);
	return NULL;
}

struct merge_plan *merge_plan_new(const struct merge_config *config,
				  const struct merge_plan_params *params, struct error *err)
{
	struct planner planner = { .config = config,
				   .params = params,
				   .host = { .file = params->host, .gguf = params->gguf },
				   .err = err };

	planner.result = &planner;
	return plan_make(&planner);
}

bool merge_plan_organ(const struct gguf *host, const struct merge_plan_tensor *tensor,
		      struct organ *organ)
{
	uint32_t dims = GGML_AXES;

	if (tensor->of != MERGE_PLAN_NEW)
		dims = host->tensors[tensor->of].dims;
	else
		while (dims > 1 && tensor->tensor.ne[dims - 1] == 1)
			dims--;
	return merge_note_organ(tensor->name, tensor->length, tensor->tensor.type, dims,
				tensor->tensor.ne, organ);
}

void merge_plan_free(struct merge_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_models + plan->n_inner; i++) {
		base_close(&plan->models[i].base);
		free(plan->models[i].path);
	}
	free(plan->models);
	for (size_t i = 0; i < plan->n_documents; i++)
		base_close(&plan->documents[i].base);
	free(plan->documents);
	free(plan->files);
	for (size_t i = 0; i < plan->n_adapted; i++)
		backing_unref(plan->adapted[i]);
	free(plan->adapted);
	matrix_cache_unref(plan->matrices);
	free(plan->tensors);
	arena_free(plan->arena);
	free(plan);
}
