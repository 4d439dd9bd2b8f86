/* SPDX-License-Identifier: MIT */
/* merge_plan.h - what becomes of each tensor of a model when a configuration is put in force: the
 * models that it names found and opened, their tensors put beside each other, and each checked.
 *
 * The form is the model whose place the result takes: the result has its metadata, its tensors,
 * the types of these where they can be encoded, and of slices so many blocks as they have together.
 * Nothing of a tensor's data is read. */
#ifndef FS_MERGE_MERGE_PLAN_H
#define FS_MERGE_MERGE_PLAN_H

#include "fs/base/base.h"
#include "fs/base/fingerprint.h"
#include "fs/merge/merge_tensor.h"

#include <stdatomic.h>

struct merge_config;
struct organ;

/* A model that a configuration names, once for each name that is written. */
struct merge_model {
	const char *written; /* as in the configuration, which is borrowed */
	char *path;	     /* absolute, or what it is told by */
	struct base base;
	bool is_document; /* and base has nothing: a merge_document has it */
	bool is_form;	  /* it is the form's very file, which is read in place of its own */
	char fingerprint[FINGERPRINT_TEXT]; /* empty of the form */
};

/* How a model is found by what is written: *path becomes its absolute path, to free, and base is
 * opened with base_open(), or has a reference of the form's file, and then no gguf; base_close() is
 * the plan's, also after a failure. Returns 0, or -errno with err set: a sentence that needs no
 * name in front, only line and column, which the plan adds. */
typedef int merge_open_model(void *context, const char *written, struct base *base, char **path,
			     struct error *err);

struct merge_plan_params {
	/* The file of the form, and what was parsed of it: borrowed, and they outlive the plan. */
	struct backing *form;
	const struct gguf *gguf;
	merge_open_model *open;
	void *context;
	enum encode_choice choice; /* of types, if the configuration names none */
	/* When it becomes true, the plan is given up with EINTR; NULL: it never does. */
	const atomic_bool *stop;
};

enum merge_made {
	MERGE_AS_FORM,	/* the form's own bytes: no model changes it */
	MERGE_AS_MODEL, /* the bytes of one model's tensor, input 0 */
	MERGE_OF_ROWS,	/* made by the rule */
	MERGE_GONE	/* of a block that the form has, and the result has not */
};

struct merge_plan_tensor {
	const char *name; /* in the result; length bytes, may hold NULs */
	uint32_t length;
	uint32_t of; /* its number in the form, or MERGE_PLAN_NEW: a block more than the form has */
	int32_t block; /* of the model that leads, that it is made of; -1: none */
	enum merge_made made;
	struct merge_tensor tensor; /* MERGE_AS_MODEL: ne, type and inputs[0] alone */
};

#define MERGE_PLAN_NEW UINT32_MAX

/* What a document of the configuration makes, as a GGUF whose bytes are made when they are read. */
struct merge_document {
	struct base base; /* gguf NULL: it is not planned yet */
	unsigned reads;	  /* of results that one read of this one takes, itself included */
};

struct merge_plan {
	size_t n;
	struct merge_plan_tensor *tensors; /* in the form's order, then new ones by block */
	/* The models that the configuration names, documents too, and behind them the n_inner files
	 * that documents alone name. */
	size_t n_models, n_inner;
	struct merge_model *models;
	size_t n_files; /* of these */
	struct merge_model **files;
	size_t n_documents; /* of the result: its other documents */
	struct merge_document *documents;
	uint64_t blocks; /* of the result */
	/* The chat template of the result; NULL: that of the form, or none. In the arena. */
	const char *chat_template;
	/* Path of the first model, also of a document, whose tokenizer differs from its form's, in
	 * the arena. NULL: none. */
	const char *other_tokenizer;
	struct arena *arena;
	/* Tensors of models with their adapters, n_adapted of them, which tensors refer to. */
	size_t n_adapted;
	struct backing **adapted;
	struct matrix_cache *matrices; /* of adapters */
};

/* The plan of a configuration, which outlives it. What is learnt is merged; tables of rope factors
 * and of whole numbers stay the form's, or go with the block of a slice that they are in.
 *
 * NULL with err set: ENOMEM; EINTR; EIO metadata cannot be read; an error of params->open();
 * EINVAL: a refusal of merge_settings(), an adapter that does not fit its model, and a model of
 * another architecture, of which a shard is missing, without a tensor that another has or with one
 * that another has not, with one of another shape or of a type that cannot be decoded, with rows
 * longer than MERGE_ROW_MAX, without such a block. All but the first two have the line and column
 * of the name in the configuration. More rows in token_embd or
 * output than the form has are left out where tokenizer_source is base, else refused; fewer are
 * refused. */
struct merge_plan *merge_plan_new(const struct merge_config *config,
				  const struct merge_plan_params *params, struct error *err);
void merge_plan_free(struct merge_plan *plan); /* NULL is fine */

/* The organ of a planned tensor that is not the form's. False: it would be too large. */
bool merge_plan_organ(const struct gguf *form, const struct merge_plan_tensor *tensor,
		      struct organ *organ);

#endif
