/* SPDX-License-Identifier: MIT */
/* merge_plan.h - the plan of a merge: opens the models that a configuration names, matches and
 * checks their tensors, and decides how each tensor of the result is made.
 *
 * The host is the model whose place the result takes. The result has the host's metadata and
 * tensors, and their types if organfs can encode them; with slices it has as many blocks as the
 * slices together. Planning reads no tensor data. */
#ifndef FS_MERGE_MERGE_PLAN_H
#define FS_MERGE_MERGE_PLAN_H

#include "fs/base/base.h"
#include "fs/base/fingerprint.h"
#include "fs/merge/merge_tensor.h"

#include <stdatomic.h>

struct merge_config;
struct organ;

/* A model that a configuration names; models with the same written name share an entry. */
struct merge_model {
	const char *written; /* borrowed from the configuration */
	char *path;	     /* absolute; or a URL, or a document's name */
	struct base base;
	bool is_document; /* base is empty: a merge_document has the model */
	bool is_host;	  /* same file as the host, and read through the host's backing */
	char fingerprint[FINGERPRINT_TEXT]; /* empty for the host */
};

/* Function that finds and opens a model by its written name. *path becomes its absolute path, to
 * free. It opens base with base_open(), or puts a reference to the host's file there and no gguf.
 * The plan calls base_close(), also after a failure. Returns 0, or -errno with a whole sentence in
 * err, to which the plan adds line and column. */
typedef int merge_open_model(void *context, const char *written, struct base *base, char **path,
			     struct error *err);

struct merge_plan_params {
	/* The host's file and its parsed header: borrowed, and they outlive the plan. */
	struct backing *host;
	const struct gguf *gguf;
	merge_open_model *open;
	void *context;
	enum encode_choice choice; /* choice of types if the configuration names none */
	/* Set to give up the plan with EINTR; or NULL. */
	const atomic_bool *stop;
};

enum merge_made {
	MERGE_AS_HOST,	/* the host's own bytes: no model changes it */
	MERGE_AS_MODEL, /* the bytes of one model's tensor, input 0 */
	MERGE_OF_ROWS,	/* rows made by the rule */
	MERGE_GONE	/* the host's tensor is in a block that the result lacks */
};

struct merge_plan_tensor {
	const char *name; /* in the result; length bytes, may hold NULs */
	uint32_t length;
	uint32_t of; /* its number in the host, or MERGE_PLAN_NEW in a block that the host lacks */
	int32_t block; /* block that it comes from, in the model that gives it its name; -1: none */
	enum merge_made made;
	struct merge_tensor tensor; /* for MERGE_AS_MODEL only ne, type and inputs[0] */
};

#define MERGE_PLAN_NEW UINT32_MAX

/* The result of a document of the configuration, as a GGUF whose bytes are computed when read. */
struct merge_document {
	struct base base; /* gguf NULL: it is not planned yet */
	unsigned reads;	  /* documents that one read of this one reads, itself included */
};

struct merge_plan {
	size_t n;
	struct merge_plan_tensor *tensors; /* in the host's order, then new ones by block */
	/* The models that the configuration names, documents too, and behind them the n_inner files
	 * that documents alone name. */
	size_t n_models, n_inner;
	struct merge_model *models;
	size_t n_files; /* of these */
	struct merge_model **files;
	size_t n_documents; /* of the result: its other documents */
	struct merge_document *documents;
	uint64_t blocks; /* of the result */
	/* The chat template of the result, in the arena; NULL: that of the host, or none. */
	const char *chat_template;
	/* Path of the first model, also of a document, whose tokenizer differs from its host's, in
	 * the arena. NULL: none. */
	const char *other_tokenizer;
	struct arena *arena;
	/* n_adapted backings of models' tensors with their adapters, used by the tensors above. */
	size_t n_adapted;
	struct backing **adapted;
	struct matrix_cache *matrices; /* of adapters */
};

/* Plan a configuration, which outlives the plan. Weights are merged. Tables of rope factors and of
 * whole numbers are the host's; with slices they come with the block that they are in. If
 * token_embd or output of a model has more rows than the host's, "tokenizer_source: base" leaves
 * them out; otherwise, and for fewer rows, the model is refused.
 *
 * NULL with err set: ENOMEM; EINTR; EIO if metadata cannot be read; an error of params->open();
 * EINVAL: a refusal of merge_settings(), an adapter that does not fit its model, or a model that
 * has another architecture, a missing shard, a tensor more or one less than another model, another
 * shape, a type that cannot be decoded, rows longer than MERGE_ROW_MAX, or no such block. Except
 * for ENOMEM and EINTR, the message begins with line and column of the model's name. */
struct merge_plan *merge_plan_new(const struct merge_config *config,
				  const struct merge_plan_params *params, struct error *err);
void merge_plan_free(struct merge_plan *plan); /* NULL is fine */

/* Make the organ of a planned tensor that is not the host's. Returns false if it is too large. */
bool merge_plan_organ(const struct gguf *host, const struct merge_plan_tensor *tensor,
		      struct organ *organ);

#endif
