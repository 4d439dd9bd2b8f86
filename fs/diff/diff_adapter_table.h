/* SPDX-License-Identifier: MIT */
/* diff_adapter_table.h - .diff/OTHER.lora-R.tsv: the part of each tensor's difference that
 * adapters of rank R and below keep: a line of fields between tabs for each pair, and one for all.
 *
 *	class kind block tensor rank norm kept-1 kept-2 kept-4 ... kept-R status
 *
 * rank is the pair's rank in the adapter, 0 for none. norm is the root of the sum of the squared
 * differences, and kept the part, 0 to 1, of that sum in the largest singular values. status is the
 * reason for no pair (diff_low_rank_word()), or "nonfinite" if a value is not finite and the pair
 * zeros. The last line has the class "total", and counts all pairs with a norm, in the adapter or
 * not. The size is known before any measurement; a read computes only the lines that it touches. */
#ifndef FS_DIFF_DIFF_ADAPTER_TABLE_H
#define FS_DIFF_DIFF_ADAPTER_TABLE_H

#include <stdint.h>

struct diff_factors;
struct view;

/* The table as a view with a reference of its own. NULL: out of memory. */
struct view *diff_adapter_table_view(struct diff_factors *factors, uint32_t rank);

#endif
