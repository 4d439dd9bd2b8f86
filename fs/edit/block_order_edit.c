/* SPDX-License-Identifier: MIT */
/* block_order_edit.c - see block_order_edit.h. */
#include "fs/edit/block_order_edit.h"
#include "fs/edit/merge_edit.h"
#include "fs/layer/layer.h"
#include "fs/merge/block_order.h"
#include "fs/merge/merge_note.h"
#include "fs/model/block_names.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/log.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An order about to be put in force. */
struct ordering {
	struct model *model;
	const char *line;
	uint32_t blocks; /* of the base */
	bool ordered;	 /* an order is in force */
	struct block_order now, wanted;
	struct error err;
};

/* The order that is in force, or the base's. Returns 1; 0 another merge is in force; or -ENOMEM. */
static int find_order(struct model *model, struct block_order *order, bool *ordered)
{
	struct merge_state *merge = merge_force_get(model);
	const uint32_t n = block_count_of_base(model);
	int rc = 1;

	*order = (struct block_order){ 0 };
	*ordered = merge != NULL;
	if (merge) {
		rc = merge->n_models == 1 && merge->models[0].path[0] == '\0'
			     ? block_order_of_config(merge->text, merge->size, order)
			     : 0;
	} else {
		order->blocks = malloc((n + 1u) * sizeof(*order->blocks));
		rc = order->blocks ? 1 : -ENOMEM;
		for (uint32_t block = 0; rc > 0 && block < n; block++)
			order->blocks[order->n++] = block;
	}
	merge_state_unref(merge);
	return rc;
}

bool block_order_edit_is_in_force(struct model *model)
{
	struct block_order order;
	bool ordered;
	const int rc = find_order(model, &order, &ordered);

	free(order.blocks);
	return rc > 0 && ordered;
}

/* Number of blocks at the end of the base that predict further tokens. */
static uint32_t count_predicting(const struct model *model)
{
	static const char ending[] = ".nextn_predict_layers";
	const size_t n = sizeof(ending) - 1;
	uint64_t count;

	for (uint32_t i = 0; i < model->gguf->n_kv; i++) {
		const struct kv *kv = &model->gguf->kv[i];

		if (kv->key_length > n && memcmp(kv->key + kv->key_length - n, ending, n) == 0 &&
		    kv_unsigned(kv, &count) && count <= block_count_of_base(model))
			return (uint32_t)count;
	}
	return 0;
}

/* Blocks for multi-token prediction must come last: llama.cpp counts them from the end. */
static int check_predicting(struct ordering *ordering)
{
	const struct block_order *wanted = &ordering->wanted;
	const uint32_t first = ordering->blocks - count_predicting(ordering->model);

	for (size_t i = 0; i + 1 < wanted->n; i++)
		if (wanted->blocks[i] >= first && wanted->blocks[i + 1] < first)
			return error_set(&ordering->err, EINVAL, ERROR_NO_OFFSET,
					 "block %" PRIu32 " is for multi-token prediction and must "
					 "come after all others",
					 wanted->blocks[i]);
	return 0;
}

static int64_t block_at(const struct block_order *order, int32_t place)
{
	return (size_t)place < order->n ? (int64_t)order->blocks[place] : -1;
}

/* A graft stays at its block's number: with another block beneath, the result would be a chimera
 * that nobody wanted. */
static int check_grafts(struct ordering *ordering)
{
	struct model *model = ordering->model;
	const uint32_t n = slots_count(model->slots);
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const struct organ_place *place = &model->places[i];
		struct content *own;
		bool grafted;

		if (!block_name(place) || block_at(&ordering->now, place->block) ==
						  block_at(&ordering->wanted, place->block))
			continue;
		own = slots_get_own(model->slots, i);
		grafted = slots_is_changed(model->slots, i, own) ||
			  slots_type(model->slots, i).is_set;
		content_unref(own);
		if (grafted)
			return error_set(&ordering->err, EBUSY, ERROR_NO_OFFSET,
					 "%s is changed, and another block would take the place of "
					 "block %" PRId32 "; undo the change, or assemble the "
					 "model and order the blocks of the new file",
					 model_organ_path(model, i, path), place->block);
	}
	return 0;
}

/* The caller releases the ordering, also on failure. */
static int read_order(struct ordering *ordering, struct model *model, const char *line)
{
	int rc;

	*ordering = (struct ordering){ .model = model,
				       .line = line,
				       .blocks = block_count_of_base(model) };
	rc = find_order(model, &ordering->now, &ordering->ordered);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return error_set(&ordering->err, EBUSY, ERROR_NO_OFFSET,
				 "a merge is in force, whose slices define the blocks; change them "
				 "in .merge, or end the merge: rm .merge");
	rc = block_order_read(line, ordering->blocks, &ordering->wanted, &ordering->err);
	if (rc == 0)
		rc = check_predicting(ordering);
	return rc == 0 ? check_grafts(ordering) : rc;
}

static void release(struct ordering *ordering)
{
	free(ordering->now.blocks);
	free(ordering->wanted.blocks);
}

static int refuse(const struct ordering *ordering, int rc)
{
	char text[LAYER_WHY];

	if (rc < 0)
		log_add(ordering->model->log, BLOCK_ORDER_NAME ": refused: %s; nothing is changed",
			layer_why(ordering->model->layer, &ordering->err, rc, text));
	return rc;
}

int block_order_edit_judge(struct model *model, const char *line)
{
	struct ordering ordering;
	const int rc = refuse(&ordering, read_order(&ordering, model, line));

	release(&ordering);
	return rc;
}

static bool is_as_in_base(const struct ordering *ordering)
{
	bool same = ordering->wanted.n == ordering->blocks;

	for (uint32_t block = 0; same && block < ordering->blocks; block++)
		same = ordering->wanted.blocks[block] == block;
	return same;
}

/* A graft, or another merge, may have come since the order was read. */
static int check_again(void *context, struct error *err)
{
	const struct ordering *before = context;
	struct ordering now;
	const int rc = read_order(&now, before->model, before->line);

	*err = now.err;
	release(&now);
	return rc;
}

static int merge_so(struct ordering *ordering, uid_t uid, gid_t gid, const atomic_bool *stop)
{
	struct model *model = ordering->model;
	const char *name = model->shown ? model->shown : model->name;
	const struct merge_found found = { .written = name, .model = model };
	char *config = block_order_config(&ordering->wanted, name);
	const struct merge_request request = { .text = config,
					       .size = config ? strlen(config) : 0,
					       .found = &found,
					       .n_found = 1,
					       .uid = uid,
					       .gid = gid,
					       .stop = stop,
					       .check = check_again,
					       .context = ordering };
	const int rc = config ? merge_edit_write(model, &request) : -ENOMEM;

	free(config);
	return rc;
}

int block_order_edit(struct model *model, const char *line, uid_t uid, gid_t gid,
		     const atomic_bool *stop)
{
	struct ordering ordering;
	int rc = refuse(&ordering, read_order(&ordering, model, line));

	if (rc == 0 && !is_as_in_base(&ordering))
		rc = merge_so(&ordering, uid, gid, stop);
	else if (rc == 0 && ordering.ordered)
		rc = merge_edit_end(model);
	release(&ordering);
	return rc;
}

char *block_order_edit_text(struct model *model)
{
	struct block_order order;
	bool ordered;
	const int rc = find_order(model, &order, &ordered);
	char *text = NULL;

	if (rc > 0)
		text = block_order_text(&order);
	else if (rc == 0)
		text = strdup("# a merge is in force: its slices, in .merge, define the blocks\n");
	free(order.blocks);
	return text;
}
