/* SPDX-License-Identifier: MIT */
/* expert_slice.h - what a tensor holds of each expert: a slice along its last axis, as an organ
 * file. Experts are counted from 0. */
#ifndef FS_TENSOR_EXPERT_SLICE_H
#define FS_TENSOR_EXPERT_SLICE_H

#include "fs/tensor/organ_views.h"

#include <stddef.h>

/* So many experts can be told apart. */
#define EXPERT_SLICE_EXPERTS_MAX 65535u

/* How many there are in an organ in the place of the tensor that it is named after. 0: it holds
 * nothing by expert, or there are too many. */
uint32_t expert_slice_count(const struct organ *organ);

/* What the stack has of one of them: no byte is copied. */
struct organ_location expert_slice(const struct organ_location *stack, uint32_t expert);

/* "007" and the like: as many digits as the last of n has, three at least. */
#define EXPERT_SLICE_NAME_MAX 8
void expert_slice_name(uint32_t expert, uint32_t n, char name[EXPERT_SLICE_NAME_MAX]);

/* The reverse, for a name of that length. False: none of the n has it. */
bool expert_slice_find(const char *name, size_t length, uint32_t n, uint32_t *expert);

/* The order that n experts have before it is changed: "0 1 2\n". NULL: out of memory. */
struct view *expert_slice_order(uint32_t n);
uint64_t expert_slice_order_size(uint32_t n); /* without making it */

/* Room for the order of so many. */
#define EXPERT_SLICE_ORDER_MAX ((size_t)6 * EXPERT_SLICE_EXPERTS_MAX + 1)

#endif
