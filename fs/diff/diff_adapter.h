/* SPDX-License-Identifier: MIT */
/* diff_adapter.h - .diff/OTHER.lora-R.gguf: a LoRA adapter that changes the model here into the
 * best approximation of rank R of the one there.
 *
 * It has a float32 pair for each tensor with DIFF_LOW_RANK_OK, in the order of the tensors here;
 * the halves of a stack of experts are stacks too. If no tensor differs, it has one pair of zeros
 * for the smallest possible tensor, because llama.cpp refuses an adapter without tensors. The size
 * is known before any read. A read computes the factors of the matrices that it touches
 * (diff_factors.h); a sequential one also the next ones. */
#ifndef FS_DIFF_DIFF_ADAPTER_H
#define FS_DIFF_DIFF_ADAPTER_H

#include <stdint.h>

struct diff_factors;
struct view;

/* The file as a view with a reference of its own. NULL with *rc set: -ENODATA no pair could change
 * any tensor, -EINVAL the weights have two bases (basis.h), -EIO, -ENOMEM, -EOVERFLOW. */
struct view *diff_adapter_view(struct diff_factors *factors, uint32_t rank, int *rc);

#endif
