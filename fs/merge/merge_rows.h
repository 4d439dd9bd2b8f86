/* SPDX-License-Identifier: MIT */
/* merge_rows.h - rows of a tensor in all models that are merged, decoded: some at a time, in memory
 * that one thread works with. */
#ifndef FS_MERGE_MERGE_ROWS_H
#define FS_MERGE_MERGE_ROWS_H

#include "measure/merge.h"

#include <stdatomic.h>

struct merge_rows {
	const struct merge_tensor *tensor; /* borrowed */
	size_t most;			   /* rows that there is room for */
	/* Behind each other; base is NULL where merge_uses_base() is false. */
	float *base, *inputs[MERGE_INPUTS_MAX];
	/* Private. */
	float *values;
	uint8_t *scratch;
};

/* Room for n rows, but not much more than fit half a MiB. It is to be released also on failure.
 * Returns 0 or -ENOMEM. */
int merge_rows_init(struct merge_rows *rows, const struct merge_tensor *tensor, uint64_t n);
void merge_rows_release(struct merge_rows *rows);

/* The n rows of each from first on; n is at most rows->most. flags and stop, and what it returns:
 * as backing_read_cancellable(). */
int merge_rows_read(struct merge_rows *rows, unsigned flags, uint64_t first, size_t n,
		    const atomic_bool *stop);

/* Bytes of a row of that many values. */
uint64_t merge_row_bytes(uint32_t type, uint64_t columns);

#endif
