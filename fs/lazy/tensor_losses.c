/* SPDX-License-Identifier: MIT */
/* tensor_losses.c - see tensor_losses.h. */
#include "fs/lazy/tensor_losses.h"
#include "fs/lazy/memo.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/requantised_loss.h"
#include "fs/util/parallel.h"
#include "fs/util/pool.h"

#include <stddef.h>
#include <stdlib.h>

static struct memo_state *place(struct content *content, uint64_t number)
{
	return &atomic_load(&content->losses)[number].once;
}

static int compute(struct model *model, uint64_t number, const struct subject *subject,
		   struct memo_state *once)
{
	struct organ_location at = organ_file_locate(model, subject->tensor, subject->content);
	struct importance_matrix *importance = adapters_importance(model);
	enum organ_view form;
	int rc;

	/* The importance matrix is keyed by slot names. */
	at.organ = model_organ_in_place(model, subject->tensor, subject->content);
	organ_view_of_type(number, &form);
	rc = requantised_loss(&at, organ_view_organ(form, &at.organ).type, importance,
			      &once->unwanted, &((struct loss_result *)once)->loss);
	importance_matrix_unref(importance);
	return rc;
}

struct tensor_losses *tensor_losses_new(struct model *model, struct pool *pool)
{
	static const struct memo_ops ops = { sizeof(struct loss_result), place, compute,
					     adapters_importance_changes };
	struct tensor_losses *losses = calloc(1, sizeof(*losses));
	bool all;

	if (!losses)
		return NULL;
	losses->own = pool ? NULL : pool_new(parallel_threads());
	all = pool || losses->own;
	for (uint32_t i = 0; all && i < ORGAN_VIEW_TYPE_COUNT; i++) {
		losses->types[i] = memo_new(&ops, model, i, pool ? pool : losses->own);
		all = losses->types[i] != NULL;
	}
	if (all)
		return losses;
	tensor_losses_free(losses);
	return NULL;
}

_Static_assert(offsetof(struct loss_result, loss) == sizeof(struct memo_state),
	       "the value follows");

void tensor_losses_stop(struct tensor_losses *losses)
{
	for (uint32_t i = 0; losses && i < ORGAN_VIEW_TYPE_COUNT; i++)
		memo_stop(losses->types[i]);
}

void tensor_losses_free(struct tensor_losses *losses)
{
	if (!losses)
		return;
	pool_free(losses->own);
	for (uint32_t i = 0; i < ORGAN_VIEW_TYPE_COUNT; i++)
		memo_free(losses->types[i]);
	free(losses);
}

bool tensor_losses_reserve(struct content *content)
{
	struct loss_result *none = NULL, *made;

	if (!content || atomic_load(&content->losses))
		return true;
	made = calloc(ORGAN_VIEW_TYPE_COUNT, sizeof(*made));
	if (made && !atomic_compare_exchange_strong(&content->losses, &none, made)) {
		free(made);
		made = none;
	}
	return made != NULL;
}
