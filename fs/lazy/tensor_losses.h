/* SPDX-License-Identifier: MIT */
/* tensor_losses.h - the loss of every organ in each type of .views/types (requantised_loss.h),
 * computed on request and kept with the content (memo.h). */
#ifndef FS_LAZY_TENSOR_LOSSES_H
#define FS_LAZY_TENSOR_LOSSES_H

#include "fs/tensor/organ_views.h"

#include <stdbool.h>

struct content;
struct model;
struct pool;

/* A memo of doubles for each type, in the order of organ_view_of_type(). */
struct tensor_losses {
	struct pool *own; /* NULL: the jobs run in the caller's pool */
	struct memo *types[ORGAN_VIEW_TYPE_COUNT];
};

/* The losses of a model; pool NULL: jobs run on threads of their own. NULL: out of memory. */
struct tensor_losses *tensor_losses_new(struct model *model, struct pool *pool);

/* As memo_stop() and memo_free(); NULL is fine. */
void tensor_losses_stop(struct tensor_losses *losses);
void tensor_losses_free(struct tensor_losses *losses);

/* Allocate a content's losses, before a memo is asked for one; the base's, NULL, needs none. False:
 * no memory. */
bool tensor_losses_reserve(struct content *content);

#endif
