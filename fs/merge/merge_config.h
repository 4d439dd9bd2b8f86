/* SPDX-License-Identifier: MIT */
/* merge_config.h - a merge configuration in the YAML of mergekit (arcee-ai/mergekit, README.md and
 * mergekit/config.py, as of 2026), parsed into a structure.
 *
 *	merge_method: ties		those of measure/merge.h, by the same names
 *	base_model: base.gguf		as each model, a name, MODEL+ADAPTER, or the mapping
 *					{model: MODEL, lora: ADAPTER}; either may be {path: NAME}
 *	models:				or slices
 *	- model: donor.gguf
 *	  parameters:			for this model
 *	    weight: 0.6			a number,
 *	    density: [0.3, 0.7]		a gradient over the blocks of the slice, or
 *	    gamma:			the first of these whose filter is part of the tensor's name
 *	    - filter: mlp
 *	      value: [0.01, 0.02]
 *	    - value: 0.05		for all other tensors
 *	slices:
 *	- base_model: base.gguf		for this slice
 *	  sources:
 *	  - model: donor.gguf
 *	    layer_range: [0, 16]	blocks from, and up to but without
 *	    parameters:
 *	  parameters:			for all models of the slice
 *	parameters:			for all models
 *	dtype: float16
 *	out_dtype: q4_k			overrides dtype; either may be a type of ggml
 *	tokenizer_source: base
 *	chat_template: auto		the models' most frequent one, or the text of a template
 *	random_seed: 42			here or among the parameters for all models
 *
 * A configuration may have several documents (docs/multimerge.md of mergekit). Each of them except
 * the result has a name, under which other documents use its merged model. The result is the
 * document without a name, or else the last one:
 *
 *	name: first
 *	merge_method: linear
 *	models: [{model: a}, {model: b}]
 *	---
 *	merge_method: slerp
 *	models: [{model: first}, {model: c}]
 *
 * A key or parameter that is unknown here, or that the method does not use, is refused by its name.
 * The only one ignored is int8_mask, which sets how mergekit stores masks and changes no result. */
#ifndef FS_MERGE_MERGE_CONFIG_H
#define FS_MERGE_MERGE_CONFIG_H

#include "measure/merge.h"

struct error;

/* Limits: the bytes of a configuration, and the entries of each list. */
#define MERGE_CONFIG_MAX	  ((size_t)1 << 20)
#define MERGE_CONFIG_SLICES	  1024
#define MERGE_CONFIG_SOURCES	  (MERGE_INPUTS_MAX + 1)
#define MERGE_CONFIG_CONDITIONS	  256
#define MERGE_CONFIG_DOCUMENTS	  32
#define MERGE_CONFIG_NUMBERS	  4096
#define MERGE_CONFIG_MODEL_LENGTH 4096
#define MERGE_CONFIG_BLOCKS	  ((uint64_t)1 << 20)

#define MERGE_CONFIG_SEED 42

#define MERGE_TEMPLATE_AUTO "auto"

enum merge_parameter {
	MERGE_WEIGHT,
	MERGE_DENSITY,
	MERGE_GAMMA,
	MERGE_EPSILON,
	MERGE_SCALE,
	/* From here on parameters that apply to all models, as does the epsilon of ram and
	 * ramplus_tl. */
	MERGE_LAMBDA,
	MERGE_T,
	MERGE_NORMALIZE,
	MERGE_RESCALE,
	MERGE_FLATTEN,
	MERGE_ROW_WISE,
	MERGE_NORMALIZE_WEIGHTS,
	MERGE_EPS,
	MERGE_MAX_ITER,
	MERGE_TOL,
	MERGE_SELECT_TOPK,
	MERGE_R,
	MERGE_ALPHA,
	MERGE_FILTER_WISE,
	MERGE_INT8_MASK,
	MERGE_PARAMETERS
};

/* A gradient over the blocks of a slice: at least one number; true is 1 and false is 0. */
struct merge_condition {
	char *filter; /* NULL: applies to every tensor */
	size_t n;
	double *numbers;
};

/* One parameter; not set if n is 0. */
struct merge_setting {
	size_t n;
	struct merge_condition *conditions;
	size_t line, column; /* from 1 on, of its name */
};

struct merge_parameters {
	struct merge_setting settings[MERGE_PARAMETERS];
};

struct merge_source {
	char *model;	     /* as it is written */
	char *lora;	     /* adapter merged into the model first; NULL: none */
	uint64_t from, to;   /* blocks of a slice; both 0 under models: */
	size_t line, column; /* from 1 on */
	struct merge_parameters parameters;
};

#define MERGE_CONFIG_NO_SOURCE SIZE_MAX

/* The model that a method subtracts from the others, to merge differences. */
struct merge_base_model {
	char *model, *lora;  /* as in merge_source; model NULL: not named */
	size_t line, column; /* from 1 on */
};

struct merge_slice {
	struct merge_base_model base_model; /* overrides that of the configuration */
	size_t n, base; /* base: index of the base model in sources, or MERGE_CONFIG_NO_SOURCE */
	struct merge_source *sources;
	size_t line, column;
	struct merge_parameters parameters;
};

struct merge_config {
	char *name; /* by which other documents refer to this one; or NULL */
	size_t n_documents;
	struct merge_config *documents; /* the named documents; NULL except in the result */
	enum merge_method method;
	struct merge_base_model base_model;
	bool sliced; /* false: one slice of all blocks */
	size_t n;
	struct merge_slice *slices;
	struct merge_parameters parameters;
	uint32_t dtype; /* a type of ggml, or MERGE_TYPE_AS_IS (merge_tensor.h) */
	bool tokenizer_of_base;
	/* Jinja, or MERGE_TEMPLATE_AUTO; NULL: the result keeps the template of its host. */
	char *chat_template;
	size_t line, column; /* where the document begins, from 1 on */
	uint64_t seed;
};

/* Names of the parameters in a configuration. */
extern const char *const merge_config_parameters[MERGE_PARAMETERS];

/* Parse and check a text of n bytes. The caller releases the configuration, also after an error.
 * Returns 0, or -errno with err set: EINVAL with line and column, EFBIG, ENOMEM. */
int merge_config_read(const char *text, size_t n, struct merge_config *config, struct error *err);

void merge_config_release(struct merge_config *config);

/* Does the method use the parameter? */
bool merge_config_takes(enum merge_method method, enum merge_parameter parameter);

/* The host, the model whose place the result takes, as written: the base model, else the first one.
 * NULL if the configuration is empty, as none from merge_config_read() is. */
const char *merge_config_host(const struct merge_config *config);

/* The host, followed through documents to the name of a file. NULL also if the documents refer to
 * each other in a circle. */
const char *merge_config_host_file(const struct merge_config *config);

/* The document of that name, possibly the result itself, or NULL. */
const struct merge_config *merge_config_document(const struct merge_config *result,
						 const char *name);

/* The name of a model, for messages: cut to fit, and a URL without its credentials. */
struct merge_shown {
	char text[64];
};
struct merge_shown merge_config_shown(const char *written);

/* The base model of a slice. Its model is NULL if no base is named. */
const struct merge_base_model *merge_config_base(const struct merge_config *config,
						 const struct merge_slice *slice);

/* Does the method merge differences from the base in this slice? */
bool merge_config_needs_base(const struct merge_config *config, const struct merge_slice *slice);

/* Is the base model merged like a source, although the slice does not list it? This holds for
 * karcher without slices: mergekit adds the base to the models (plan.py, normalize_config()), and
 * karcher treats it as one of them. */
bool merge_config_adds_base(const struct merge_config *config, const struct merge_slice *slice);

/* The last step of merge_config_read(): check that the method gets the models that it needs and no
 * parameter that it does not use, and set the base of each slice. Returns 0, or -EINVAL with err
 * set. */
int merge_config_check(struct merge_config *config, struct error *err);

#endif
