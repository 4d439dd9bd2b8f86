/* SPDX-License-Identifier: MIT */
/* merge_config.h - how models are merged: a configuration of mergekit (arcee-ai/mergekit, README.md
 * and mergekit/config.py, as of 2026), YAML, as a structure.
 *
 *	merge_method: ties		those of measure/merge.h, by the same names
 *	base_model: base.gguf		as each model, a name, MODEL+ADAPTER, or the mapping
 *					{model: MODEL, lora: ADAPTER}; either may be {path: NAME}
 *	models:				or slices
 *	- model: donor.gguf
 *	  parameters:			of this model
 *	    weight: 0.6			a number,
 *	    density: [0.3, 0.7]		a gradient over the blocks of the slice, or
 *	    gamma:			the first of these whose filter is part of the tensor's name
 *	    - filter: mlp
 *	      value: [0.01, 0.02]
 *	    - value: 0.05		of all others
 *	slices:
 *	- base_model: base.gguf		of this slice
 *	  sources:
 *	  - model: donor.gguf
 *	    layer_range: [0, 16]	blocks from, and up to but without
 *	    parameters:
 *	  parameters:			of all models of the slice
 *	parameters:			of all
 *	dtype: float16
 *	out_dtype: q4_k			goes before dtype; either may be a type of ggml
 *	tokenizer_source: base
 *	chat_template: auto		the most frequent one of the models, or the text of one
 *	random_seed: 42			here or among the parameters of all
 *
 * Of several documents (docs/multimerge.md of mergekit) each but the result has a name, by which
 * others mean what it makes as a model; the result is the document without a name, or the last one:
 *
 *	name: first
 *	merge_method: linear
 *	models: [{model: a}, {model: b}]
 *	---
 *	merge_method: slerp
 *	models: [{model: first}, {model: c}]
 *
 * A key or a parameter that is not known here, or that the method has no use for, is refused by its
 * name: none is passed over, but int8_mask, which says how mergekit stores what has no effect on a
 * result. */
#ifndef FS_MERGE_MERGE_CONFIG_H
#define FS_MERGE_MERGE_CONFIG_H

#include "measure/merge.h"

struct error;

/* The longest text, in bytes, and the most of each list. */
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
	/* From here on none of a single model, and neither is the epsilon of ram and ramplus_tl. */
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

/* Numbers over the blocks of a slice, at least one; true is 1 and false is 0. */
struct merge_condition {
	char *filter; /* NULL: of every tensor */
	size_t n;
	double *numbers;
};

/* n is 0: it is not set. */
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
	char *lora;	     /* an adapter that is merged into it before; NULL: there is none */
	uint64_t from, to;   /* blocks of a slice; 0 and 0 in models */
	size_t line, column; /* from 1 on */
	struct merge_parameters parameters;
};

#define MERGE_CONFIG_NO_SOURCE SIZE_MAX

/* The model that differences are taken from. */
struct merge_base_model {
	char *model, *lora;  /* as of a source; model NULL: none is named */
	size_t line, column; /* from 1 on */
};

struct merge_slice {
	struct merge_base_model base_model; /* goes before that of the configuration */
	size_t n, base; /* the base model's place among the sources, or MERGE_CONFIG_NO_SOURCE */
	struct merge_source *sources;
	size_t line, column;
	struct merge_parameters parameters;
};

struct merge_config {
	char *name; /* by which other documents mean it; NULL: it has none */
	size_t n_documents;
	struct merge_config *documents; /* of the result: the others; none has any itself */
	enum merge_method method;
	struct merge_base_model base_model;
	bool sliced; /* false: one slice, of all blocks there are */
	size_t n;
	struct merge_slice *slices;
	struct merge_parameters parameters;
	uint32_t dtype; /* a type of ggml, or MERGE_TYPE_AS_IS (merge_tensor.h) */
	bool tokenizer_of_base;
	/* Jinja, or MERGE_TEMPLATE_AUTO; NULL: the result has that of its form. */
	char *chat_template;
	size_t line, column; /* where the document begins, from 1 on */
	uint64_t seed;
};

/* By their names in a configuration. */
extern const char *const merge_config_parameters[MERGE_PARAMETERS];

/* The text of n bytes as a configuration, which is always to be released. Returns 0, or -errno with
 * err set: EINVAL with line and column, EFBIG, ENOMEM. */
int merge_config_read(const char *text, size_t n, struct merge_config *config, struct error *err);

void merge_config_release(struct merge_config *config);

/* Has the method a use for the parameter? */
bool merge_config_takes(enum merge_method method, enum merge_parameter parameter);

/* The model whose place the result takes, as it is written: the base model, else the first one.
 * NULL: the configuration is empty, which merge_config_read() gives none. */
const char *merge_config_form(const struct merge_config *config);

/* The same where that is a document: the model whose place the result of that takes. NULL also:
 * documents refer to each other in a circle. */
const char *merge_config_form_file(const struct merge_config *config);

/* The document of that name, which may be the result. NULL: there is none. */
const struct merge_config *merge_config_document(const struct merge_config *result,
						 const char *name);

/* How a sentence names a model, or the start of that: of a URL without what may grant access. */
struct merge_shown {
	char text[64];
};
struct merge_shown merge_config_shown(const char *written);

/* The base model of a slice. Its model is NULL where there is none. */
const struct merge_base_model *merge_config_base(const struct merge_config *config,
						 const struct merge_slice *slice);

/* Does the method merge differences from the base there? */
bool merge_config_needs_base(const struct merge_config *config, const struct merge_slice *slice);

/* Is the base model one of those that are merged, though it is no source of the slice? So it is of
 * karcher where there are no slices, as mergekit adds it to the models (plan.py,
 * normalize_config()), and to that method it is a model as the others. */
bool merge_config_adds_base(const struct merge_config *config, const struct merge_slice *slice);

/* What is wrong with a configuration that is read but for that: the models that the method needs,
 * and parameters that it has no use for. Sets the base of each slice. Returns 0, or -EINVAL with
 * err set. merge_config_read() calls it. */
int merge_config_check(struct merge_config *config, struct error *err);

#endif
