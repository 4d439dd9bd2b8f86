/* SPDX-License-Identifier: MIT */
/* diff_adapter_table.h - .diff/OTHER.lora-R.tsv: how much of each tensor's difference an adapter of
 * rank R keeps, and of lower ranks: a line for each pair of tensors, of fields between tabs, and
 * one for all of them.
 *
 *	class kind block tensor rank norm kept-1 kept-2 kept-4 ... kept-R status
 *
 * rank is that of the pair in the adapter, 0 for none; norm the root of the sum of the squares of
 * all differences; kept the part of that sum, 0 to 1, which is what squares of singular values are;
 * status says why there is no pair (diff_low_rank_word()), or "nonfinite" where a value is not
 * finite, and the pair zeros. The line of all has the class "total", and counts those that have a
 * norm, also without a pair. Its size is known before anything is measured; a read finds what the
 * lines that it touches need, once. */
#ifndef FS_DIFF_DIFF_ADAPTER_TABLE_H
#define FS_DIFF_DIFF_ADAPTER_TABLE_H

#include <stdint.h>

struct diff_factors;
struct view;

/* The table as a view, which takes a reference of its own. NULL: out of memory. */
struct view *diff_adapter_table_view(struct diff_factors *factors, uint32_t rank);

#endif
