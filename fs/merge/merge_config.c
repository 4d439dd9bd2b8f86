/* SPDX-License-Identifier: MIT */
/* merge_config.c - see merge_config.h: the models and parameters that each method takes. */
#include "fs/merge/merge_config.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const merge_config_parameters[MERGE_PARAMETERS] = {
	[MERGE_WEIGHT] = "weight",
	[MERGE_DENSITY] = "density",
	[MERGE_GAMMA] = "gamma",
	[MERGE_EPSILON] = "epsilon",
	[MERGE_SCALE] = "scale",
	[MERGE_LAMBDA] = "lambda",
	[MERGE_T] = "t",
	[MERGE_NORMALIZE] = "normalize",
	[MERGE_RESCALE] = "rescale",
	[MERGE_FLATTEN] = "nuslerp_flatten",
	[MERGE_ROW_WISE] = "nuslerp_row_wise",
	[MERGE_NORMALIZE_WEIGHTS] = "normalize_weights",
	[MERGE_EPS] = "eps",
	[MERGE_MAX_ITER] = "max_iter",
	[MERGE_TOL] = "tol",
	[MERGE_SELECT_TOPK] = "select_topk",
	[MERGE_R] = "r",
	[MERGE_ALPHA] = "alpha",
	[MERGE_FILTER_WISE] = "filter_wise",
	[MERGE_INT8_MASK] = "int8_mask",
};

#define BIT(parameter) (1u << (parameter))
#define TASK	       (BIT(MERGE_WEIGHT) | BIT(MERGE_LAMBDA) | BIT(MERGE_NORMALIZE))
#define SPARSE	       (TASK | BIT(MERGE_DENSITY) | BIT(MERGE_RESCALE))

static const unsigned uses[MERGE_METHODS] = {
	[MERGE_LINEAR] = BIT(MERGE_WEIGHT) | BIT(MERGE_NORMALIZE),
	[MERGE_PASSTHROUGH] = BIT(MERGE_SCALE),
	[MERGE_SLERP] = BIT(MERGE_T),
	[MERGE_NUSLERP] = BIT(MERGE_WEIGHT) | BIT(MERGE_FLATTEN) | BIT(MERGE_ROW_WISE),
	[MERGE_MODEL_STOCK] = BIT(MERGE_FILTER_WISE),
	[MERGE_TASK_ARITHMETIC] = TASK,
	[MERGE_TIES] = SPARSE,
	[MERGE_DARE_LINEAR] = SPARSE,
	[MERGE_DARE_TIES] = SPARSE,
	[MERGE_DELLA] = SPARSE | BIT(MERGE_EPSILON),
	[MERGE_DELLA_LINEAR] = SPARSE | BIT(MERGE_EPSILON),
	[MERGE_BREADCRUMBS] = SPARSE | BIT(MERGE_GAMMA),
	[MERGE_BREADCRUMBS_TIES] = SPARSE | BIT(MERGE_GAMMA),
	[MERGE_NEARSWAP] = BIT(MERGE_T),
	[MERGE_RAM] = BIT(MERGE_EPSILON),
	[MERGE_RAMPLUS_TL] = BIT(MERGE_EPSILON) | BIT(MERGE_R) | BIT(MERGE_ALPHA),
	[MERGE_MULTISLERP] = BIT(MERGE_WEIGHT) | BIT(MERGE_NORMALIZE_WEIGHTS) | BIT(MERGE_EPS),
	[MERGE_KARCHER] = BIT(MERGE_MAX_ITER) | BIT(MERGE_TOL),
	[MERGE_SCE] = BIT(MERGE_SELECT_TOPK),
	[MERGE_ARCEE_FUSION] = 0,
};

bool merge_config_takes(enum merge_method method, enum merge_parameter parameter)
{
	return parameter == MERGE_INT8_MASK || (uses[method] & BIT(parameter));
}

const char *merge_config_host(const struct merge_config *config)
{
	if (config->base_model.model)
		return config->base_model.model;
	return config->n && config->slices[0].n ? config->slices[0].sources[0].model : NULL;
}

const struct merge_config *merge_config_document(const struct merge_config *result,
						 const char *name)
{
	if (result->name && strcmp(result->name, name) == 0)
		return result;
	for (size_t i = 0; i < result->n_documents; i++)
		if (result->documents[i].name && strcmp(result->documents[i].name, name) == 0)
			return &result->documents[i];
	return NULL;
}

const char *merge_config_host_file(const struct merge_config *config)
{
	const struct merge_config *document = config;

	for (size_t i = 0; document && i <= config->n_documents; i++) {
		const char *host = merge_config_host(document);

		document = host ? merge_config_document(config, host) : NULL;
		if (!document)
			return host;
	}
	return NULL;
}

struct merge_shown merge_config_shown(const char *written)
{
	char *url = url_is_remote(written) ? url_shown(written) : NULL;
	struct merge_shown shown;

	snprintf(shown.text, sizeof(shown.text), "%.60s",
		 url			  ? url
		 : url_is_remote(written) ? "a URL"
					  : written);
	free(url);
	return shown;
}

const struct merge_base_model *merge_config_base(const struct merge_config *config,
						 const struct merge_slice *slice)
{
	return slice->base_model.model ? &slice->base_model : &config->base_model;
}

bool merge_config_needs_base(const struct merge_config *config, const struct merge_slice *slice)
{
	const struct merge_rule rule = { .method = config->method,
					 .has_base = merge_config_base(config, slice)->model };

	return merge_uses_base(&rule);
}

bool merge_config_adds_base(const struct merge_config *config, const struct merge_slice *slice)
{
	return config->method == MERGE_KARCHER && !config->sliced && config->base_model.model &&
	       slice->base == MERGE_CONFIG_NO_SOURCE;
}

static void release_parameters(struct merge_parameters *parameters)
{
	for (unsigned p = 0; p < MERGE_PARAMETERS; p++) {
		struct merge_setting *setting = &parameters->settings[p];

		for (size_t i = 0; i < setting->n; i++) {
			free(setting->conditions[i].filter);
			free(setting->conditions[i].numbers);
		}
		free(setting->conditions);
	}
}

static void release_base(struct merge_base_model *base)
{
	free(base->model);
	free(base->lora);
}

static void release_slice(struct merge_slice *slice)
{
	for (size_t i = 0; i < slice->n; i++) {
		free(slice->sources[i].model);
		free(slice->sources[i].lora);
		release_parameters(&slice->sources[i].parameters);
	}
	free(slice->sources);
	release_base(&slice->base_model);
	release_parameters(&slice->parameters);
}

void merge_config_release(struct merge_config *config)
{
	for (size_t i = 0; i < config->n; i++)
		release_slice(&config->slices[i]);
	free(config->slices);
	release_base(&config->base_model);
	release_parameters(&config->parameters);
	free(config->chat_template);
	free(config->name);
	for (size_t i = 0; i < config->n_documents; i++)
		merge_config_release(&config->documents[i]);
	free(config->documents);
	*config = (struct merge_config){ 0 };
}

#define refuse(err, place, format, ...)                                                         \
	error_set(err, EINVAL, ERROR_NO_OFFSET, "line %zu, column %zu: " format, (place)->line, \
		  (place)->column, __VA_ARGS__)

static bool is_of_model(enum merge_method method, enum merge_parameter parameter)
{
	if (method == MERGE_RAM || method == MERGE_RAMPLUS_TL)
		return false;
	return parameter < MERGE_LAMBDA;
}

static int check_parameters(const struct merge_config *config,
			    const struct merge_parameters *parameters, bool of_model,
			    struct error *err)
{
	for (enum merge_parameter p = 0; p < MERGE_PARAMETERS; p++) {
		const struct merge_setting *setting = &parameters->settings[p];

		if (!setting->n)
			continue;
		if (!merge_config_takes(config->method, p))
			return refuse(err, setting, "%s has no use for \"%s\"",
				      merge_method_names[config->method],
				      merge_config_parameters[p]);
		if (of_model && !is_of_model(config->method, p))
			return refuse(err, setting, "\"%s\" is not a parameter of a single model",
				      merge_config_parameters[p]);
	}
	return 0;
}

/* The base model of a method that merges differences has no weight. */
static int check_base(const struct merge_parameters *parameters, struct error *err)
{
	for (enum merge_parameter p = 0; p < MERGE_PARAMETERS; p++)
		if (parameters->settings[p].n)
			return refuse(err, &parameters->settings[p],
				      "\"%s\" is not a parameter of the base model",
				      merge_config_parameters[p]);
	return 0;
}

/* The same model with the same adapter, or both without? */
static bool is_same(const char *model, const char *lora, const struct merge_source *source)
{
	return strcmp(model, source->model) == 0 &&
	       (lora && source->lora ? strcmp(lora, source->lora) == 0 : lora == source->lora);
}

static int check_source(const struct merge_config *config, struct merge_slice *slice, size_t i,
			struct error *err)
{
	const struct merge_source *source = &slice->sources[i];
	const struct merge_base_model *base = merge_config_base(config, slice);

	for (size_t j = 0; j < i; j++)
		if (is_same(source->model, source->lora, &slice->sources[j]))
			return refuse(err, source, "\"%s\" occurs twice",
				      merge_config_shown(source->model).text);
	if (source->to - source->from != slice->sources[0].to - slice->sources[0].from)
		return refuse(err, source, "its layer_range is not as long as that of \"%s\"",
			      merge_config_shown(slice->sources[0].model).text);
	if (base->model && is_same(base->model, base->lora, source))
		slice->base = i;
	if (slice->base == i && merge_config_needs_base(config, slice))
		return check_base(&source->parameters, err);
	return check_parameters(config, &source->parameters, true, err);
}

/* slerp interpolates from the base model to the one other model. */
static int check_slerp(const struct merge_config *config, const struct merge_slice *slice,
		       struct error *err)
{
	const bool has_base = merge_config_base(config, slice)->model;

	if (slice->base != MERGE_CONFIG_NO_SOURCE && slice->n != 2)
		return refuse(err, slice, "slerp merges %s and one more, not %zu models",
			      "the base model", slice->n);
	if (slice->base == MERGE_CONFIG_NO_SOURCE && has_base && (slice->n != 1 || config->sliced))
		return refuse(err, slice, "slerp: the base model is %s", "none of these models");
	if (!has_base && slice->n != 2)
		return refuse(err, slice, "slerp merges %s, not %zu", "two models", slice->n);
	return 0;
}

static int check_count(const struct merge_config *config, const struct merge_slice *slice,
		       struct error *err)
{
	const bool based = merge_config_needs_base(config, slice);
	const size_t n = slice->n + merge_config_adds_base(config, slice) -
			 (based && slice->base != MERGE_CONFIG_NO_SOURCE);
	size_t least = 1, most = MERGE_INPUTS_MAX;

	if (config->method == MERGE_SLERP)
		return check_slerp(config, slice, err);
	if (based && config->sliced && slice->base == MERGE_CONFIG_NO_SOURCE)
		return refuse(err, slice, "\"%s\", the base model, is not a source of this slice",
			      merge_config_shown(merge_config_base(config, slice)->model).text);
	if (config->method == MERGE_PASSTHROUGH || config->method == MERGE_NEARSWAP ||
	    config->method == MERGE_ARCEE_FUSION)
		most = 1;
	if (config->method == MERGE_NUSLERP)
		least = most = 2;
	if (config->method == MERGE_MODEL_STOCK)
		least = 2;
	if (n < least || n > most)
		return refuse(err, slice, "%s merges %s%zu model%s%s, not %zu",
			      merge_method_names[config->method],
			      least == most ? ""
			      : n < least   ? "at least "
					    : "at most ",
			      n < least ? least : most, (n < least ? least : most) == 1 ? "" : "s",
			      based ? " with the base model" : "", n);
	return 0;
}

static int check_slice(const struct merge_config *config, struct merge_slice *slice,
		       struct error *err)
{
	int rc = 0;

	if (merge_config_needs_base(config, slice) && !merge_config_base(config, slice)->model)
		return refuse(err, config, "%s needs \"base_model\"",
			      merge_method_names[config->method]);
	slice->base = MERGE_CONFIG_NO_SOURCE;
	for (size_t i = 0; rc == 0 && i < slice->n; i++)
		rc = check_source(config, slice, i, err);
	if (rc == 0)
		rc = check_parameters(config, &slice->parameters, false, err);
	return rc == 0 ? check_count(config, slice, err) : rc;
}

static int check(struct merge_config *config, struct error *err)
{
	int rc = check_parameters(config, &config->parameters, false, err);

	for (size_t i = 0; rc == 0 && i < config->n; i++)
		rc = check_slice(config, &config->slices[i], err);
	return rc;
}

static int check_document(const struct merge_config *result, struct merge_config *document,
			  struct error *err)
{
	if (!document->name)
		return refuse(err, document, "%s has no \"name\", as this one", "another document");
	if (merge_config_document(result, document->name) != document)
		return refuse(err, document, "\"%.60s\" is the name of two documents",
			      document->name);
	if (document->chat_template)
		return refuse(err, document, "%s belongs to the document that is the result",
			      "\"chat_template\"");
	return check(document, err);
}

int merge_config_check(struct merge_config *config, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < config->n_documents; i++)
		rc = check_document(config, &config->documents[i], err);
	return rc == 0 ? check(config, err) : rc;
}
