/* SPDX-License-Identifier: MIT */
/* merge_plan_internal.h - shared by the files of merge_plan*.c. Functions that return int return 0,
 * or -errno with the planner's error set. */
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

/* Most blocks of a model and of a result. "blk.N." with N from here on names no block. */
#define PLAN_BLOCKS_MAX ((uint64_t)65536)

/* The plan's view of a model. File and GGUF are borrowed. */
struct plan_model {
	struct backing *file;
	const struct gguf *gguf;
	const char *name;    /* for messages; NULL: the host */
	size_t line, column; /* of its first mention */
	bool is_pair;	     /* written as MODEL+ADAPTER, and is either of the two */
	bool is_adapter;     /* it has pairs (gguf/pair.h), and the members below are unset */
	/* Its tensors, sorted by block: block b has numbers[starts[b]] up to but without
	 * numbers[starts[b + 1]]. Tensors outside the blocks are in bucket b = blocks. */
	uint64_t blocks;
	uint32_t *starts, *numbers;
};

struct planner {
	const struct merge_config *config;
	struct planner *outer;	/* of the document that has this one as a model; NULL: the result */
	struct planner *result; /* the outermost */
	unsigned reads;		/* documents that one read of its result reads */
	const struct merge_plan_params *params;
	struct merge_plan *plan;
	size_t room, added; /* allocated and new tensors of the plan */
	size_t adapted_room;
	struct names *names;	   /* the models' written names */
	struct plan_model *models; /* in the order of the plan's models */
	struct plan_model host;
	char *scratch; /* PLAN_NAME_MAX + 1 bytes: a tensor's name */
	struct error *err;
};

/* The limit of the GGUF reader. */
#define PLAN_NAME_MAX 65535

/* Place of a tensor in the result, and the models that it is merged from. */
struct plan_place {
	struct merge_place place;
	const struct merge_slice *slice;
	const struct plan_model *sources[MERGE_CONFIG_SOURCES];
	const struct plan_model *base; /* or NULL */
	/* Their adapters; NULL: none. */
	const struct plan_model *loras[MERGE_CONFIG_SOURCES], *base_lora;
};

#define plan_refuse(planner, place, format, ...)                                            \
	error_set((planner)->err, EINVAL, ERROR_NO_OFFSET, "line %zu, column %zu: " format, \
		  (place)->line, (place)->column, __VA_ARGS__)

int plan_out_of_memory(const struct planner *planner);

/* Returns -EINTR, with the error set, once params->stop is true. */
int plan_go_on(const struct planner *planner);

/* merge_plan.c: plan planner->config for planner->host. NULL with the error set. */
struct merge_plan *plan_make(struct planner *planner);

/* merge_plan_documents.c */

/* Plan the document, named at that place, unless it is planned; *made is borrowed. */
int plan_open_document(struct planner *planner, const struct merge_config *document,
		       const struct plan_model *at, const struct merge_document **made);

/* List the files of the plan. For the result's plan, refuse a document that no other one uses. */
int plan_list_files(struct planner *planner);

/* merge_plan_models.c */

/* Most models of a merge, because each of them keeps files open. */
#define PLAN_MODELS_MAX ((size_t)128)

/* A document is read once for each model that names it, those of documents too. */
#define PLAN_READS_MAX 256u

/* Compute the fingerprint of an opened model, if it has to have one. */
int plan_fingerprint(const struct planner *planner, struct merge_model *opened,
		     const struct plan_model *at);

/* Is base the same file as the host? */
bool plan_is_host(const struct planner *planner, const struct base *base);

/* Find and open every model of the configuration, once for each name. */
int plan_models_open(struct planner *planner);

int plan_model_index(const struct planner *planner, struct plan_model *model);
void plan_model_release(struct plan_model *model);

/* The model of that name, which has to occur in the configuration. */
const struct plan_model *plan_model_named(const struct planner *planner, const char *written);

/* The numbers of the tensors of a block; block model->blocks stands for those outside the
 * blocks. */
const uint32_t *plan_model_block(const struct plan_model *model, uint64_t block, size_t *n);

/* merge_plan_adapters.c */

/* Check that every adapter fits the model that it is named with. */
int plan_check_adapters(const struct planner *planner);

/* Replace data, that of a model's tensor, by the tensor with the adapter merged in, if the adapter
 * changes the tensor. adapter may be NULL. */
int plan_adapt(struct planner *planner, const struct plan_model *adapter,
	       const struct gguf_tensor *tensor, struct merge_data *data);

/* merge_plan_keys.c: have both models the same value of a key? Returns 1, 0 or -errno, and sets no
 * error. */

int plan_same_key(const struct plan_model *a, const struct plan_model *b, const char *key);
int plan_same_tokenizer(const struct plan_model *a, const struct plan_model *b);

/* merge_plan_template.c: set the plan's chat template. */

int plan_chat_template(struct planner *planner);

/* merge_plan_names.c */

/* Length of "blk.N." at the start of a tensor's name, and N in *block. 0 outside the blocks. */
size_t plan_block_prefix(const struct gguf_tensor *tensor, uint64_t *block);

/* Write the name with another block's number to planner->scratch. Returns its length, or 0 if it is
 * too long. prefix: from plan_block_prefix(). */
uint32_t plan_name_in_block(const struct planner *planner, const char *name, uint32_t length,
			    size_t prefix, uint64_t block);

/* Place of a tensor outside the blocks: before or behind them. */
enum merge_outside plan_outside_of(const struct gguf_tensor *tensor);

/* Is the tensor a weight, which is merged? Tables of rope factors and of whole numbers are not, and
 * are copied. */
bool plan_is_weight(const struct gguf_tensor *tensor);

/* merge_plan_tensor.c */

/* Plan a tensor of the result whose name and number in the host are set. led is the leader's tensor
 * of that name. */
int plan_tensor(struct planner *planner, const struct plan_place *at,
		struct merge_plan_tensor *result, const struct plan_model *leader,
		const struct gguf_tensor *led);

/* The block of a source that is merged at this place; for a base model that is no source, the block
 * of the same number. */
uint64_t plan_source_block(const struct planner *planner, const struct plan_place *at,
			   size_t source);

/* merge_plan_more.c */

/* Check that no source has a weight that the leader lacks, in the blocks that are merged at this
 * place, or outside the blocks. leader_block is the leader's block. */
int plan_check_no_more(struct planner *planner, const struct plan_place *at,
		       const struct plan_model *leader, uint64_t leader_block,
		       enum merge_outside outside);

#endif
