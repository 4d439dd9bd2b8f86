/* SPDX-License-Identifier: MIT */
/* merge_plan_tensor.c - see merge_plan_internal.h: one tensor of the result. */
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "gguf/dequant.h"
#include "gguf/organ.h"
#include "gguf/reader.h"

#include <string.h>

/* The model of a source, with its name and place for messages. */
static const struct plan_model *model_of(const struct plan_place *at, size_t source)
{
	return source == MERGE_CONFIG_NO_SOURCE ? at->base : at->sources[source];
}

uint64_t plan_source_block(const struct planner *planner, const struct plan_place *at,
			   size_t source)
{
	return source == MERGE_CONFIG_NO_SOURCE
		       ? at->place.block
		       : merge_source_block(planner->config, &at->place, source);
}

/* Find a model's tensor of that name, with the model's own block number. NULL if there is none;
 * *name is the name that was searched for. */
static const struct gguf_tensor *find(const struct planner *planner, const struct plan_place *at,
				      size_t source, const struct gguf_tensor *named,
				      const char **name)
{
	uint64_t block;
	const size_t prefix = plan_block_prefix(named, &block);
	uint32_t length = named->name_length;

	*name = named->name;
	if (prefix && plan_source_block(planner, at, source) != block) {
		length = plan_name_in_block(planner, named->name, length, prefix,
					    plan_source_block(planner, at, source));
		if (length == 0)
			return NULL;
		*name = planner->scratch;
	}
	return gguf_tensor(model_of(at, source)->gguf, *name, length);
}

static bool is_named(const struct gguf_tensor *tensor, const char *name)
{
	return tensor->name_length == strlen(name) && memcmp(tensor->name, name, strlen(name)) == 0;
}

static bool has_tokens(const struct gguf_tensor *tensor)
{
	return is_named(tensor, "token_embd.weight") || is_named(tensor, "output.weight");
}

static bool same_shape(const struct gguf_tensor *a, const struct gguf_tensor *b)
{
	return memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;
}

static int refuse_missing(const struct planner *planner, const struct plan_model *model,
			  const char *name)
{
	const bool tied = strcmp(name, "output.weight") == 0;

	return plan_refuse(planner, model, "\"%.60s\" has no %.80s%s", model->name, name,
			   tied ? ": its token_embd.weight is that too" : "");
}

/* Check the number of rows of a tensor with one row per token that differs from the host's. */
static int check_rows(const struct planner *planner, const struct plan_model *model,
		      const struct gguf_tensor *found, const struct gguf_tensor *shaped)
{
	if (found->ne[1] < shaped->ne[1])
		return plan_refuse(planner, model,
				   "%.40s of \"%.60s\" has %" PRIu64
				   " rows, which are fewer than %" PRIu64,
				   shaped->name, model->name, found->ne[1], shaped->ne[1]);
	if (planner->config->tokenizer_of_base)
		return 0;
	return plan_refuse(planner, model,
			   "%.40s of \"%.60s\" has %" PRIu64 " rows, which are more than %" PRIu64
			   "; with \"tokenizer_source: base\" they are left out",
			   shaped->name, model->name, found->ne[1], shaped->ne[1]);
}

static int check_shape(const struct planner *planner, const struct plan_model *model,
		       const struct gguf_tensor *found, const struct gguf_tensor *shaped)
{
	char is[SHAPE_TEXT_MAX], not [SHAPE_TEXT_MAX];

	if (same_shape(found, shaped))
		return 0;
	if (has_tokens(shaped) && found->ne[0] == shaped->ne[0] && found->ne[2] == shaped->ne[2] &&
	    found->ne[3] == shaped->ne[3])
		return check_rows(planner, model, found, shaped);
	return plan_refuse(planner, model, "%.60s of \"%.60s\" has the shape %.40s, not %.40s",
			   found->name, model->name, shape_text(found->ne, found->dims, is),
			   shape_text(shaped->ne, shaped->dims, not ));
}

static bool can_decode(const struct gguf_tensor *tensor)
{
	return dequant_supported(tensor->type) &&
	       !(tensor->type >= GGML_I8 && tensor->type <= GGML_I64);
}

/* Check the type of one model's tensor. known: a size suffices, values are not decoded. */
static int check_type(const struct planner *planner, const struct plan_model *model,
		      const struct gguf_tensor *found, bool known)
{
	char scratch[TYPE_NAME_MAX];

	const struct organ organ = organ_of_tensor(found);
	char text[ORGAN_SHORT_MAX];

	if (type_is_short(found->type))
		return plan_refuse(planner, model, "%.80s of \"%.60s\" is short: %s", found->name,
				   model->name, organ_short_text(&organ, text));
	if (known ? type_find(found->type) != NULL : can_decode(found))
		return 0;
	return plan_refuse(planner, model, "%.80s of \"%.60s\" is of type %s, which is not merged",
			   found->name, model->name, type_name(found->type, scratch));
}

static const struct plan_model *adapter_of(const struct plan_place *at, size_t source)
{
	return source == MERGE_CONFIG_NO_SOURCE ? at->base_lora : at->loras[source];
}

/* Location and type of a model's tensor. */

static struct merge_data data_of(const struct plan_model *model, const struct gguf_tensor *tensor)
{
	return (struct merge_data){ model->file, tensor->offset, tensor->type };
}

/* Find the source's tensor that matches a name and shape. */
static int find_data(struct planner *planner, const struct plan_place *at, size_t source,
		     const struct gguf_tensor *shaped, const struct gguf_tensor **found,
		     struct merge_data *data)
{
	const struct plan_model *model = model_of(at, source);
	const char *name;
	int rc;

	*found = find(planner, at, source, shaped, &name);
	if (!*found)
		return refuse_missing(planner, model, name);
	*data = data_of(model, *found);
	rc = check_shape(planner, model, *found, shaped);
	if (rc == 0)
		rc = check_type(planner, model, *found, true);
	return rc == 0 ? plan_adapt(planner, adapter_of(at, source), *found, data) : rc;
}

/* Does the rule leave the tensor with the same bytes as in the model's file? */
static bool passes_through(const struct planner *planner, const struct plan_model *model,
			   const struct merge_tensor *tensor)
{
	const uint32_t dtype = planner->config->dtype, type = tensor->inputs[0].type;

	return tensor->inputs[0].file == model->file && tensor->rule.method == MERGE_PASSTHROUGH &&
	       tensor->rule.inputs[0].weight == 1.0 &&
	       (dtype == MERGE_TYPE_AS_IS ||
		merge_tensor_type(type, tensor->ne, dtype, ENCODE_KEEP) == type);
}

/* Make the result's tensor the bytes of a model's tensor. */
static void pass_through(const struct planner *planner, struct merge_plan_tensor *result,
			 struct merge_data data)
{
	const struct gguf_tensor *own =
		result->of == MERGE_PLAN_NEW ? NULL : &planner->host.gguf->tensors[result->of];

	result->tensor.type = data.type;
	result->tensor.inputs[0] = data;
	result->made = own && data.file == planner->host.file && data.offset == own->offset &&
				       data.type == own->type
			       ? MERGE_AS_HOST
			       : MERGE_AS_MODEL;
}

static int plan_weight(struct planner *planner, const struct plan_place *at,
		       struct merge_plan_tensor *result, const struct gguf_tensor *shaped)
{
	struct merge_tensor *tensor = &result->tensor;
	/* The base is the last one. */
	const struct gguf_tensor *found[MERGE_INPUTS_MAX + 1];
	size_t sources[MERGE_INPUTS_MAX + 1], n;
	uint64_t elements = 0;
	int rc;

	shape_elements(shaped->ne, &elements);
	rc = merge_settings(planner->config, &at->place, result->name, elements / shaped->ne[0],
			    shaped->ne[0], &tensor->rule, sources, planner->err);
	n = tensor->rule.n;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = find_data(planner, at, sources[i], shaped, &found[i], &tensor->inputs[i]);
	if (rc == 0 && merge_uses_base(&tensor->rule)) {
		sources[n] = at->slice->base;
		rc = find_data(planner, at, sources[n], shaped, &found[n], &tensor->base);
		n++;
	}
	if (rc == 0 && passes_through(planner, model_of(at, sources[0]), tensor)) {
		pass_through(planner, result, tensor->inputs[0]);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = check_type(planner, model_of(at, sources[i]), found[i], false);
	if (rc == 0 && shaped->ne[0] > MERGE_ROW_MAX)
		rc = plan_refuse(planner, at->slice, "the rows of %.80s are too long to be merged",
				 shaped->name);
	result->made = MERGE_OF_ROWS;
	tensor->type = merge_tensor_type(shaped->type, shaped->ne, planner->config->dtype,
					 planner->params->choice);
	return rc;
}

/* Plan a table: the leader's. The table of every other model has to have the same type and
 * shape. */
static int plan_table(const struct planner *planner, const struct plan_place *at,
		      struct merge_plan_tensor *result, const struct plan_model *leader,
		      const struct gguf_tensor *led, const struct gguf_tensor *shaped)
{
	const char *name;

	for (size_t i = 0; i < at->slice->n; i++) {
		const struct gguf_tensor *found = find(planner, at, i, shaped, &name);

		if (found && (!same_shape(found, shaped) || found->type != shaped->type))
			return plan_refuse(planner, at->sources[i],
					   "%.80s of \"%.60s\" is of another type or shape",
					   found->name, at->sources[i]->name);
	}
	pass_through(planner, result, data_of(leader, led));
	return 0;
}

/* The host's tensor that gives the result its shape and type: the one at the same place. For a
 * block that the host lacks it is the one in the block of the leader's number, or in the last
 * block. NULL if there is none. */
static const struct gguf_tensor *pattern_of(const struct planner *planner,
					    const struct merge_plan_tensor *result,
					    const struct gguf_tensor *led)
{
	const struct plan_model *host = &planner->host;
	uint64_t block;
	size_t prefix;
	uint32_t length;

	if (result->of != MERGE_PLAN_NEW)
		return &host->gguf->tensors[result->of];
	prefix = plan_block_prefix(led, &block);
	if (host->blocks == 0)
		return NULL;
	block = block < host->blocks ? block : host->blocks - 1;
	length = plan_name_in_block(planner, led->name, led->name_length, prefix, block);
	return gguf_tensor(host->gguf, planner->scratch, length);
}

int plan_tensor(struct planner *planner, const struct plan_place *at,
		struct merge_plan_tensor *result, const struct plan_model *leader,
		const struct gguf_tensor *led)
{
	const struct gguf_tensor *pattern = pattern_of(planner, result, led);
	struct gguf_tensor shaped = pattern ? *pattern : *led;
	const int rc = plan_go_on(planner);

	if (rc < 0)
		return rc;
	shaped.name = result->name;
	shaped.name_length = result->length;
	memcpy(result->tensor.ne, shaped.ne, sizeof(shaped.ne));
	return plan_is_weight(&shaped) ? plan_weight(planner, at, result, &shaped)
				       : plan_table(planner, at, result, leader, led, &shaped);
}
