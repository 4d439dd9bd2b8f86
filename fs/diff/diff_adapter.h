/* SPDX-License-Identifier: MIT */
/* diff_adapter.h - .diff/OTHER.lora-R.gguf: a LoRA adapter that makes the model here as much like
 * the one there as rank R can.
 *
 * It has a pair for each tensor for which diff_low_rank() is OK, of float32, in the order of the
 * tensors here; for a stack of experts each half is a stack too. Where no tensor differs, one pair
 * of zeros is there, of the smallest that could, for llama.cpp takes no adapter without tensors.
 * Its size is known before anything is read, and a read finds the factors of the matrices that it
 * touches (diff_factors.h); one that follows another also those of the next ones meanwhile. */
#ifndef FS_DIFF_DIFF_ADAPTER_H
#define FS_DIFF_DIFF_ADAPTER_H

#include <stdint.h>

struct diff_factors;
struct view;

/* The file as a view, which takes a reference of its own. NULL with *rc set: -ENODATA no tensor of
 * the two could be changed by a pair, -EINVAL the weights are stored in two bases (basis.h), -EIO,
 * -ENOMEM, -EOVERFLOW. */
struct view *diff_adapter_view(struct diff_factors *factors, uint32_t rank, int *rc);

#endif
