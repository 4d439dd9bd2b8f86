/* SPDX-License-Identifier: MIT */
/* merge_settings.c - see merge_settings.h. */
#include "fs/merge/merge_settings.h"
#include "fs/merge/merge_config.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct merge_place merge_place_outside(const struct merge_config *config,
				       enum merge_outside outside)
{
	return (struct merge_place){ .slice = outside == MERGE_BEFORE_BLOCKS ? 0 : config->n - 1 };
}

uint64_t merge_slice_blocks(const struct merge_config *config, size_t slice, uint64_t model_blocks)
{
	const struct merge_source *first = config->slices[slice].sources;

	return config->sliced ? first->to - first->from : model_blocks;
}

uint64_t merge_blocks(const struct merge_config *config, uint64_t model_blocks)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < config->n; i++)
		blocks += merge_slice_blocks(config, i, model_blocks);
	return blocks;
}

uint64_t merge_source_block(const struct merge_config *config, const struct merge_place *place,
			    size_t source)
{
	return config->slices[place->slice].sources[source].from + place->block;
}

static const char *const block_names[][2] = {
	{ "attn_q", "self_attn.q_proj" },
	{ "attn_k", "self_attn.k_proj" },
	{ "attn_v", "self_attn.v_proj" },
	{ "attn_output", "self_attn.o_proj" },
	{ "ffn_gate", "mlp.gate_proj" },
	{ "ffn_up", "mlp.up_proj" },
	{ "ffn_down", "mlp.down_proj" },
	{ "attn_norm", "input_layernorm" },
	{ "ffn_norm", "post_attention_layernorm" },
};

static const char *const other_names[][2] = {
	{ "token_embd", "model.embed_tokens" },
	{ "output", "lm_head" },
	{ "output_norm", "model.norm" },
};

/* Hugging Face's name for a name that equals one of n GGUF names up to its last dot, or NULL. */
static const char *find_name(const char *const names[][2], size_t n, const char *name,
			     size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i][0]) == length && memcmp(names[i][0], name, length) == 0)
			return names[i][1];
	return NULL;
}

/* Length of a prefix like "blk.12.", or 0. */
static size_t block_prefix(const char *name)
{
	size_t digits;

	if (strncmp(name, "blk.", 4) != 0)
		return 0;
	digits = strspn(name + 4, "0123456789");
	return digits && name[4 + digits] == '.' ? 4 + digits + 1 : 0;
}

bool merge_other_name(const char *name, char other[MERGE_NAME_MAX])
{
	const size_t prefix = block_prefix(name);
	const char *stem = name + prefix, *end = strrchr(stem, '.'), *found;
	const size_t length = end ? (size_t)(end - stem) : strlen(stem);
	int n;

	other[0] = '\0';
	found = prefix ? find_name(block_names, sizeof(block_names) / sizeof(block_names[0]), stem,
				   length)
		       : find_name(other_names, sizeof(other_names) / sizeof(other_names[0]), stem,
				   length);
	if (!found)
		return false;
	n = prefix ? snprintf(other, MERGE_NAME_MAX, "model.layers.%.*s%s%s", (int)(prefix - 4),
			      name + 4, found, stem + length)
		   : snprintf(other, MERGE_NAME_MAX, "%s%s", found, stem + length);
	if (n >= 0 && n < MERGE_NAME_MAX)
		return true;
	other[0] = '\0';
	return false;
}

/* The tensor for which parameters are looked up. */
struct lookup {
	const struct merge_config *config;
	const struct merge_slice *slice;
	const struct merge_place *place;
	const char *name, *other;
};

double merge_gradient(const double *numbers, size_t n, uint64_t block, uint64_t blocks)
{
	const double last = (double)(n - 1);
	double at = 0.0;
	size_t below;

	if (blocks == 1 || (blocks && block >= blocks))
		at = last;
	else if (blocks > 1)
		at = (double)block / (double)(blocks - 1) * last;
	below = (size_t)at;
	if (below + 1 >= n)
		return numbers[n - 1];
	at -= (double)below;
	return (1.0 - at) * numbers[below] + at * numbers[below + 1];
}

static bool fits(const struct lookup *lookup, const char *filter)
{
	return !filter || strstr(lookup->name, filter) || strstr(lookup->other, filter);
}

static bool get_setting(const struct lookup *lookup, const struct merge_setting *setting,
			double *value)
{
	for (size_t i = 0; i < setting->n; i++)
		if (fits(lookup, setting->conditions[i].filter)) {
			*value = merge_gradient(setting->conditions[i].numbers,
						setting->conditions[i].n, lookup->place->block,
						lookup->place->blocks);
			return true;
		}
	return false;
}

/* Look up a parameter; source is NULL for parameters of no single model. Returns false if the
 * configuration has no value, and leaves *value. */
static bool get(const struct lookup *lookup, const struct merge_source *source,
		enum merge_parameter which, double *value)
{
	return (source && get_setting(lookup, &source->parameters.settings[which], value)) ||
	       get_setting(lookup, &lookup->slice->parameters.settings[which], value) ||
	       get_setting(lookup, &lookup->config->parameters.settings[which], value);
}

static bool get_truth(const struct lookup *lookup, enum merge_parameter which, bool value)
{
	double number = value ? 1.0 : 0.0;

	get(lookup, NULL, which, &number);
	return number != 0.0;
}

/* Choose the sources that are inputs, in their order. The base model is no input of a method that
 * merges differences, and the first one of slerp. Returns their number. */
static unsigned choose_sources(const struct merge_config *config, const struct merge_slice *slice,
			       size_t sources[MERGE_INPUTS_MAX])
{
	const bool apart = merge_config_needs_base(config, slice);
	const bool first = config->method == MERGE_SLERP && merge_config_base(config, slice)->model;
	unsigned n = 0;

	if (first)
		sources[n++] = slice->base;
	for (size_t i = 0; i < slice->n && n < MERGE_INPUTS_MAX; i++)
		if (i != slice->base || !(apart || first))
			sources[n++] = i;
	if (merge_config_adds_base(config, slice) && n < MERGE_INPUTS_MAX)
		sources[n++] = MERGE_CONFIG_NO_SOURCE;
	return n;
}

static int fill_input(const struct lookup *lookup, const struct merge_source *source,
		      unsigned place, struct merge_input *input, struct error *err)
{
	const bool passes = lookup->config->method == MERGE_PASSTHROUGH;

	*input = (struct merge_input){
		.weight = 1.0,
		.density = 1.0,
		.gamma = 0.01,
		.epsilon = 0.15,
		.seed = XXH64(lookup->name, strlen(lookup->name), lookup->config->seed + place),
	};
	get(lookup, source, MERGE_DENSITY, &input->density);
	get(lookup, source, MERGE_GAMMA, &input->gamma);
	get(lookup, source, MERGE_EPSILON, &input->epsilon);
	if (!get(lookup, source, passes ? MERGE_SCALE : MERGE_WEIGHT, &input->weight) && !passes &&
	    merge_config_takes(lookup->config->method, MERGE_WEIGHT))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "line %zu, column %zu: \"%s\" has no \"weight\" for %.80s",
				 source->line, source->column,
				 merge_config_shown(source->model).text, lookup->name);
	return 0;
}

/* Extent of nuslerp's and model_stock's vectors. A tensor of one row, such as a norm, is one
 * vector anyway. */
static enum merge_extent get_extent(const struct lookup *lookup, uint64_t rows)
{
	if (lookup->config->method == MERGE_MODEL_STOCK)
		return get_truth(lookup, MERGE_FILTER_WISE, false) ? MERGE_ROWS : MERGE_WHOLE;
	if (lookup->config->method != MERGE_NUSLERP || get_truth(lookup, MERGE_FLATTEN, true))
		return MERGE_WHOLE;
	return rows > 1 && get_truth(lookup, MERGE_ROW_WISE, false) ? MERGE_COLUMNS : MERGE_ROWS;
}

static double get_number(const struct lookup *lookup, enum merge_parameter which, double value)
{
	get(lookup, NULL, which, &value);
	return value;
}

/* mergekit has two keys for this parameter. */
static bool get_normalize(const struct lookup *lookup)
{
	const enum merge_method method = lookup->config->method;

	if (method == MERGE_MULTISLERP)
		return get_truth(lookup, MERGE_NORMALIZE_WEIGHTS, true);
	return get_truth(lookup, MERGE_NORMALIZE,
			 method == MERGE_LINEAR || method == MERGE_TIES || method == MERGE_DELLA);
}

/* Set the rule's parameters that apply to all models. */
static int fill_rule(const struct lookup *lookup, struct merge_rule *rule, struct error *err)
{
	const enum merge_method method = lookup->config->method;

	rule->method = method;
	rule->has_base = merge_config_base(lookup->config, lookup->slice)->model != NULL;
	rule->normalize = get_normalize(lookup);
	rule->rescale = get_truth(lookup, MERGE_RESCALE,
				  method == MERGE_DARE_LINEAR || method == MERGE_DARE_TIES ||
					  method == MERGE_DELLA || method == MERGE_DELLA_LINEAR);
	rule->extent = get_extent(lookup, rule->rows);
	rule->lambda = get_number(lookup, MERGE_LAMBDA, 1.0);
	rule->epsilon = get_number(lookup, MERGE_EPSILON, 1e-5);
	rule->r = get_number(lookup, MERGE_R, 0.1);
	rule->alpha = get_number(lookup, MERGE_ALPHA, 0.2);
	rule->eps = get_number(lookup, MERGE_EPS, 1e-8);
	rule->tol = get_number(lookup, MERGE_TOL, 1e-5);
	rule->max_iter = get_number(lookup, MERGE_MAX_ITER, 10.0);
	rule->select_topk = get_number(lookup, MERGE_SELECT_TOPK, 1.0);
	if (!get(lookup, NULL, MERGE_T, &rule->t) && merge_config_takes(method, MERGE_T))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "line %zu, column %zu: %s has no \"t\" for %.80s",
				 lookup->slice->line, lookup->slice->column,
				 merge_method_names[method], lookup->name);
	return 0;
}

int merge_settings(const struct merge_config *config, const struct merge_place *place,
		   const char *name, uint64_t rows, uint64_t columns, struct merge_rule *rule,
		   size_t sources[MERGE_INPUTS_MAX], struct error *err)
{
	const struct merge_slice *slice = &config->slices[place->slice];
	char other[MERGE_NAME_MAX];
	const struct lookup lookup = { config, slice, place, name, other };
	int rc;

	merge_other_name(name, other);
	*rule = (struct merge_rule){ .rows = rows, .columns = columns };
	rc = fill_rule(&lookup, rule, err);
	rule->n = choose_sources(config, slice, sources);
	for (unsigned i = 0; rc == 0 && i < rule->n; i++)
		rc = fill_input(&lookup,
				sources[i] == MERGE_CONFIG_NO_SOURCE ? NULL
								     : &slice->sources[sources[i]],
				i, &rule->inputs[i], err);
	return rc;
}
