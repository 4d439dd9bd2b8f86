/* SPDX-License-Identifier: MIT */
/* expert_slice.h - one expert's part of a tensor, a slice along the last axis, as an organ file.
 * Experts are counted from 0. */
#ifndef FS_TENSOR_EXPERT_SLICE_H
#define FS_TENSOR_EXPERT_SLICE_H

#include "fs/tensor/organ_views.h"

#include <stddef.h>

/* greatest number of experts */
#define EXPERT_SLICE_EXPERTS_MAX 65535u

/* Number of experts in an organ with its tensor's name. 0: the tensor is not divided by expert, or
 * there are too many. */
uint32_t expert_slice_count(const struct organ *organ);

/* The slice of one expert in the stack; no bytes are copied. */
struct organ_location expert_slice(const struct organ_location *stack, uint32_t expert);

/* Print "007" and the like: as many digits as n - 1 has, at least three. */
#define EXPERT_SLICE_NAME_MAX 8
void expert_slice_name(uint32_t expert, uint32_t n, char name[EXPERT_SLICE_NAME_MAX]);

/* Parse such a name, of that length. False: no expert of n has it. */
bool expert_slice_find(const char *name, size_t length, uint32_t n, uint32_t *expert);

/* The initial order of n experts as text, "0 1 2\n". NULL: out of memory. */
struct view *expert_slice_order(uint32_t n);
uint64_t expert_slice_order_size(uint32_t n); /* size of that text */

/* Room for the order of so many experts. */
#define EXPERT_SLICE_ORDER_MAX ((size_t)6 * EXPERT_SLICE_EXPERTS_MAX + 1)

#endif
