/* SPDX-License-Identifier: MIT */
/* merge_plan_internal.h - what the parts of a plan share. All that return int return 0, or -errno
 * with the planner's error set. */
#ifndef FS_MERGE_MERGE_PLAN_INTERNAL_H
#define FS_MERGE_MERGE_PLAN_INTERNAL_H

#include "fs/merge/merge_config.h"
#include "fs/merge/merge_settings.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>

struct base;
struct gguf_tensor;
struct merge_data;
struct merge_document;
struct merge_model;
struct merge_plan_tensor;

/* "blk.N." with an N from there on names no block. So many a result has at most, too. */
#define PLAN_BLOCKS_MAX ((uint64_t)65536)

/* A model as the plan looks at it. File and GGUF are borrowed. */
struct plan_model {
	struct backing *file;
	const struct gguf *gguf;
	const char *name;    /* as it may be shown; NULL: the form */
	size_t line, column; /* where it is named first */
	bool is_pair;	     /* it is one of a model and its adapter, of which the name has both */
	bool is_adapter;     /* it has pairs (gguf/pair.h), and none of what follows */
	/* Its tensors by their blocks: those of block b are numbers[starts[b]] and on, up to
	 * starts[b + 1]; those of none are there as of one more block. */
	uint64_t blocks;
	uint32_t *starts, *numbers;
};

struct planner {
	const struct merge_config *config;
	struct planner *outer;	/* of the document that has this one as a model; NULL: the result */
	struct planner *result; /* the outermost */
	unsigned reads;		/* of documents' results that one read of its result takes */
	const struct merge_plan_params *params;
	struct merge_plan *plan;
	size_t room, added; /* of the plan's tensors */
	size_t adapted_room;
	struct names *names;	   /* of models, as they are written */
	struct plan_model *models; /* as the plan's */
	struct plan_model form;
	char *scratch; /* PLAN_NAME_MAX + 1 bytes: a tensor's name */
	struct error *err;
};

/* As the reader of GGUF has it. */
#define PLAN_NAME_MAX 65535

/* Where in the result a tensor stands, and of which models. */
struct plan_place {
	struct merge_place place;
	const struct merge_slice *slice;
	const struct plan_model *sources[MERGE_CONFIG_SOURCES];
	const struct plan_model *base; /* NULL: none is named */
	/* The adapters of these; NULL: it has none. */
	const struct plan_model *loras[MERGE_CONFIG_SOURCES], *base_lora;
};

#define plan_refuse(planner, place, format, ...)                                            \
	error_set((planner)->err, EINVAL, ERROR_NO_OFFSET, "line %zu, column %zu: " format, \
		  (place)->line, (place)->column, __VA_ARGS__)

int plan_out_of_memory(const struct planner *planner);

/* -EINTR, with the error set, soon after params->stop became true. */
int plan_go_on(const struct planner *planner);

/* merge_plan.c: the plan of planner->config for planner->form. NULL with the error set. */
struct merge_plan *plan_make(struct planner *planner);

/* merge_plan_documents.c */

/* Plan the document, named at that place, unless it is planned; *made is borrowed. */
int plan_open_document(struct planner *planner, const struct merge_config *document,
		       const struct plan_model *at, const struct merge_document **made);

/* List the files of the plan; of the result each document has to be used. */
int plan_list_files(struct planner *planner);

/* merge_plan_models.c */

/* So many are opened for a merge, each of which keeps files open. */
#define PLAN_MODELS_MAX ((size_t)128)

/* A document is read once for each model that names it, those of documents too. */
#define PLAN_READS_MAX 256u

/* Find the fingerprint of a model that is opened, where it is to have one. */
int plan_fingerprint(const struct planner *planner, struct merge_model *opened,
		     const struct plan_model *at);

/* Is that the form's very file? */
bool plan_is_form(const struct planner *planner, const struct base *base);

/* Find and open every model that is named, once for each name. */
int plan_models_open(struct planner *planner);

int plan_model_index(const struct planner *planner, struct plan_model *model);
void plan_model_release(struct plan_model *model);

/* The one of that name, which is one of the configuration's. */
const struct plan_model *plan_model_named(const struct planner *planner, const char *written);

/* The numbers of the tensors of a block, which is at most model->blocks: that is of none. */
const uint32_t *plan_model_block(const struct plan_model *model, uint64_t block, size_t *n);

/* merge_plan_adapters.c */

/* Does every adapter that is named fit the model that it is named with? */
int plan_check_adapters(const struct planner *planner);

/* Where data is that of the model's tensor, it becomes that with the adapter, if that changes it.
 * adapter: NULL is fine. */
int plan_adapt(struct planner *planner, const struct plan_model *adapter,
	       const struct gguf_tensor *tensor, struct merge_data *data);

/* merge_plan_keys.c: is it the same in both? 1, 0 or -errno, and no error is set. */

int plan_same_key(const struct plan_model *a, const struct plan_model *b, const char *key);
int plan_same_tokenizer(const struct plan_model *a, const struct plan_model *b);

/* merge_plan_template.c: set the plan's chat template. */

int plan_chat_template(struct planner *planner);

/* merge_plan_names.c */

/* The bytes of "blk.N." at the start of a tensor's name, and N. 0: it is of no block. */
size_t plan_block_prefix(const struct gguf_tensor *tensor, uint64_t *block);

/* The name with that block in the place of its own, in planner->scratch, and its length; 0: it is
 * too long. prefix: as plan_block_prefix(). */
uint32_t plan_name_in_block(const struct planner *planner, const char *name, uint32_t length,
			    size_t prefix, uint64_t block);

/* Does it belong to the tensors behind the blocks? */
enum merge_outside plan_outside_of(const struct gguf_tensor *tensor);

/* Is it learnt, so that it is merged? Tables of rope factors and of whole numbers are not, and stay
 * as they are. */
bool plan_is_weight(const struct gguf_tensor *tensor);

/* merge_plan_tensor.c */

/* What becomes of a tensor of the result, of which name and number in the form are set. led is the
 * one of a model that gave it that name. */
int plan_tensor(struct planner *planner, const struct plan_place *at,
		struct merge_plan_tensor *result, const struct plan_model *leader,
		const struct gguf_tensor *led);

/* The block of a source that is merged there; of a base model that is no source, the same one. */
uint64_t plan_source_block(const struct planner *planner, const struct plan_place *at,
			   size_t source);

/* merge_plan_more.c */

/* Has none of the sources a weight that the leader lacks? Of the block of each that is merged
 * there, or outside of these. Its own block is leader_block. */
int plan_check_no_more(struct planner *planner, const struct plan_place *at,
		       const struct plan_model *leader, uint64_t leader_block,
		       enum merge_outside outside);

#endif
