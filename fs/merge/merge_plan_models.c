/* SPDX-License-Identifier: MIT */
/* merge_plan_models.c - see merge_plan_internal.h: opens and checks each model of a plan. */
#include "fs/base/basis.h"
#include "fs/base/fingerprint.h"
#include "fs/base/shards.h"
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/arena.h"
#include "gguf/names.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The bucket of a tensor: its block, or model->blocks. */
static uint64_t bucket_of(const struct plan_model *model, uint32_t i)
{
	uint64_t block;

	return plan_block_prefix(&model->gguf->tensors[i], &block) ? block : model->blocks;
}

int plan_model_index(const struct planner *planner, struct plan_model *model)
{
	const uint32_t n = model->gguf->n_tensors;
	uint64_t block;

	for (uint32_t i = 0; i < n; i++)
		if (plan_block_prefix(&model->gguf->tensors[i], &block) && block >= model->blocks)
			model->blocks = block + 1;
	model->starts = calloc(model->blocks + 3, sizeof(*model->starts));
	model->numbers = malloc((n + 1u) * sizeof(*model->numbers));
	if (!model->starts || !model->numbers)
		return plan_out_of_memory(planner);
	/* Counting sort: starts[b + 2] first counts bucket b; then starts[b + 1] is the next free
	 * place of bucket b, and in the end its end. */
	for (uint32_t i = 0; i < n; i++)
		model->starts[bucket_of(model, i) + 2]++;
	for (uint64_t b = 0; b <= model->blocks; b++)
		model->starts[b + 2] += model->starts[b + 1];
	for (uint32_t i = 0; i < n; i++)
		model->numbers[model->starts[bucket_of(model, i) + 1]++] = i;
	return 0;
}

void plan_model_release(struct plan_model *model)
{
	free(model->starts);
	free(model->numbers);
	*model = (struct plan_model){ 0 };
}

const uint32_t *plan_model_block(const struct plan_model *model, uint64_t block, size_t *n)
{
	*n = block > model->blocks ? 0 : model->starts[block + 1] - model->starts[block];
	return block > model->blocks ? NULL : &model->numbers[model->starts[block]];
}

const struct plan_model *plan_model_named(const struct planner *planner, const char *written)
{
	uint32_t i;

	return written && names_find(planner->names, written, strlen(written), &i)
		       ? &planner->models[i]
		       : NULL;
}

/* The model's name for messages, in the arena. NULL: out of memory. */
static const char *shown_name(const struct planner *planner, const char *written)
{
	char *shown = url_is_remote(written) ? url_shown(written) : strdup(written);
	const char *copy = shown ? arena_copy(planner->plan->arena, shown, strlen(shown)) : NULL;

	free(shown);
	return copy;
}

static int add_name(struct planner *planner, const char *written, bool is_adapter, bool is_pair,
		    size_t line, size_t column)
{
	struct merge_plan *plan = planner->plan;
	struct plan_model model = {
		.line = line, .column = column, .is_adapter = is_adapter, .is_pair = is_pair
	};
	const int rc =
		names_add(planner->names, written, strlen(written), (uint32_t)plan->n_models);

	if (rc == -EEXIST && plan_model_named(planner, written)->is_adapter != is_adapter)
		return plan_refuse(planner, &model, "\"%s\" is a model and an adapter at once",
				   merge_config_shown(written).text);
	if (rc == -EEXIST)
		return 0;
	if (rc < 0)
		return plan_out_of_memory(planner);
	if (plan->n_models == PLAN_MODELS_MAX)
		return plan_refuse(planner, &model, "at most %zu models are opened for a merge",
				   PLAN_MODELS_MAX);
	model.name = shown_name(planner, written);
	if (!model.name)
		return plan_out_of_memory(planner);
	plan->models[plan->n_models].written = written;
	planner->models[plan->n_models++] = model;
	return 0;
}

/* Add a model, and its adapter unless lora is NULL. */
static int add_pair(struct planner *planner, const char *model, const char *lora, size_t line,
		    size_t column)
{
	const int rc = add_name(planner, model, false, lora, line, column);

	return rc == 0 && lora ? add_name(planner, lora, true, true, line, column) : rc;
}

static int add_base(struct planner *planner, const struct merge_base_model *base)
{
	return base->model ? add_pair(planner, base->model, base->lora, base->line, base->column)
			   : 0;
}

static int add_names(struct planner *planner)
{
	const struct merge_config *config = planner->config;
	int rc = add_base(planner, &config->base_model);

	for (size_t i = 0; rc == 0 && i < config->n; i++) {
		rc = add_base(planner, &config->slices[i].base_model);
		for (size_t k = 0; rc == 0 && k < config->slices[i].n; k++) {
			const struct merge_source *source = &config->slices[i].sources[k];

			rc = add_pair(planner, source->model, source->lora, source->line,
				      source->column);
		}
	}
	return rc;
}

bool plan_is_host(const struct planner *planner, const struct base *base)
{
	const struct backing *host = planner->params->host;

	return base->file == host ||
	       (paths_same_file(backing_stat(host), backing_stat(base->file)) &&
		backing_size(host) == backing_size(base->file) &&
		planner->params->gguf->n_tensors == base->gguf->n_tensors);
}

static int refuse_part(const struct planner *planner, const struct shards *shards,
		       const struct plan_model *model)
{
	char *summary = shards_summary(shards);
	const int rc = summary ? plan_refuse(planner, model, "\"%.80s\" is not complete: %s",
					     model->name, summary)
			       : plan_out_of_memory(planner);

	free(summary);
	return rc;
}

static int open_document(struct planner *planner, const struct merge_config *document,
			 struct merge_model *opened, struct plan_model *model)
{
	const struct merge_document *made;
	int rc;

	opened->is_document = true;
	opened->path = strdup(opened->written);
	rc = opened->path ? plan_open_document(planner, document, model, &made)
			  : plan_out_of_memory(planner);
	if (rc < 0)
		return rc;
	model->file = made->base.file;
	model->gguf = made->base.gguf;
	planner->reads += made->reads;
	if (planner->reads <= PLAN_READS_MAX)
		return 0;
	return plan_refuse(planner, model,
			   "\"%.80s\": a read of the result would take more than %u reads of "
			   "documents' results; write some of these to files",
			   model->name, PLAN_READS_MAX);
}

static int open_model(struct planner *planner, struct merge_model *opened, struct plan_model *model)
{
	const struct merge_plan_params *params = planner->params;
	const struct merge_config *document =
		merge_config_document(planner->result->config, opened->written);
	struct error why = { 0 };
	int rc;

	if (document)
		return open_document(planner, document, opened, model);
	rc = params->open(params->context, opened->written, &opened->base, &opened->path, &why);
	if (rc < 0)
		return error_set(planner->err, -rc, ERROR_NO_OFFSET, "line %zu, column %zu: %.*s%s",
				 model->line, model->column, model->is_pair ? 190 : 255, why.text,
				 model->is_pair ? "; a name with \"+\" is written {path: NAME}"
						: "");
	if (opened->base.shards && !shards_are_complete(opened->base.shards))
		return refuse_part(planner, opened->base.shards, model);
	opened->is_host = plan_is_host(planner, &opened->base);
	model->file = opened->is_host ? params->host : opened->base.file;
	model->gguf = opened->is_host ? params->gguf : opened->base.gguf;
	return 0;
}

/* The model's architecture for messages, in the arena. */
static const char *architecture_of(const struct planner *planner, const struct plan_model *model)
{
	const struct kv *kv = gguf_find(model->gguf, "general.architecture");
	char text[41];
	const size_t n = kv && kv->length < sizeof(text) ? (size_t)kv->length : sizeof(text) - 1;
	const char *copy = NULL;

	if (!kv || kv->type != KV_STRING)
		return "none";
	if (backing_read_with(model->file, BACKING_UNVERIFIED, text, n, kv->offset) == 0)
		copy = arena_copy(planner->plan->arena, text, n);
	return copy ? copy : "that cannot be read";
}

static int refuse_metadata(const struct planner *planner, const struct plan_model *model, int rc)
{
	if (rc == -ENOMEM)
		return plan_out_of_memory(planner);
	return error_set(planner->err, -rc, ERROR_NO_OFFSET,
			 "line %zu, column %zu: the metadata of \"%.100s\" cannot be read",
			 model->line, model->column, model->name);
}

static int check_basis(const struct planner *planner, const struct plan_model *model)
{
	const struct source of_host = backing_source(planner->host.file);
	const struct source of_model = backing_source(model->file);
	const int rc = basis_same(planner->host.gguf, &of_host, model->gguf, &of_model);

	if (rc < 0)
		return refuse_metadata(planner, model, rc);
	if (rc == 1)
		return 0;
	return plan_refuse(planner, model,
			   "the weights of \"%.60s\" are stored in another basis (*.hadamard.*) "
			   "than those of the model that it is merged into",
			   model->name);
}

static int check_architecture(const struct planner *planner, const struct plan_model *model)
{
	const int rc = plan_same_key(&planner->host, model, "general.architecture");

	if (rc < 0)
		return refuse_metadata(planner, model, rc);
	if (rc == 1)
		return check_basis(planner, model);
	return plan_refuse(
		planner, model,
		"\"%.60s\" is of architecture %s, the model that it is merged into of %s",
		model->name, architecture_of(planner, model),
		architecture_of(planner, &planner->host));
}

int plan_fingerprint(const struct planner *planner, struct merge_model *opened,
		     const struct plan_model *at)
{
	const int rc =
		opened->is_host || opened->is_document || opened->fingerprint[0]
			? 0
			: fingerprint(opened->base.file, opened->base.gguf, opened->fingerprint);

	if (rc == -ENOMEM)
		return plan_out_of_memory(planner);
	if (rc < 0)
		return error_set(planner->err, -rc, ERROR_NO_OFFSET,
				 "line %zu, column %zu: \"%.60s\" cannot be read", at->line,
				 at->column, merge_config_shown(opened->written).text);
	return 0;
}

/* Without slices, blocks of the same number are merged, so models must have as many as the host. */
static int check_blocks(const struct planner *planner, const struct plan_model *model)
{
	if (planner->config->sliced || model->is_adapter || model->blocks == planner->host.blocks)
		return 0;
	return plan_refuse(planner, model,
			   "\"%.60s\" has %" PRIu64 " blocks, the model that it is merged into "
			   "%" PRIu64,
			   model->name, model->blocks, planner->host.blocks);
}

static int check_ranges(const struct planner *planner)
{
	const struct merge_config *config = planner->config;

	for (size_t i = 0; config->sliced && i < config->n; i++)
		for (size_t k = 0; k < config->slices[i].n; k++) {
			const struct merge_source *source = &config->slices[i].sources[k];
			const struct plan_model *model = plan_model_named(planner, source->model);

			if (source->to > model->blocks)
				return plan_refuse(planner, source,
						   "\"%.60s\" has %" PRIu64
						   " blocks, none with number %" PRIu64,
						   model->name, model->blocks, source->to - 1);
		}
	return 0;
}

static int open_all(struct planner *planner)
{
	struct merge_plan *plan = planner->plan;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < plan->n_models; i++) {
		rc = plan_go_on(planner);
		if (rc == 0)
			rc = open_model(planner, &plan->models[i], &planner->models[i]);
		if (rc == 0)
			rc = check_architecture(planner, &planner->models[i]);
		if (rc == 0 && !planner->models[i].is_adapter)
			rc = plan_model_index(planner, &planner->models[i]);
		if (rc == 0)
			rc = check_blocks(planner, &planner->models[i]);
		if (rc == 0)
			rc = plan_fingerprint(planner, &plan->models[i], &planner->models[i]);
	}
	return rc;
}

int plan_models_open(struct planner *planner)
{
	int rc;

	planner->plan->models = calloc(PLAN_MODELS_MAX, sizeof(*planner->plan->models));
	planner->models = calloc(PLAN_MODELS_MAX, sizeof(*planner->models));
	planner->names = names_new(4);
	if (!planner->plan->models || !planner->models || !planner->names)
		return plan_out_of_memory(planner);
	rc = add_names(planner);
	if (rc == 0)
		rc = open_all(planner);
	if (rc == 0)
		rc = check_ranges(planner);
	return rc == 0 ? plan_check_adapters(planner) : rc;
}
