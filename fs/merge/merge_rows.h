/* SPDX-License-Identifier: MIT */
/* merge_rows.h - buffer of decoded rows of one tensor in all models of a merge. One thread uses
 * it. */
#ifndef FS_MERGE_MERGE_ROWS_H
#define FS_MERGE_MERGE_ROWS_H

#include "measure/merge.h"

#include <stdatomic.h>

struct merge_rows {
	const struct merge_tensor *tensor; /* borrowed */
	size_t most;			   /* rows that fit the buffer */
	/* Adjacent in memory; base is NULL if merge_uses_base() is false. */
	float *base, *inputs[MERGE_INPUTS_MAX];
	/* Private. */
	float *values;
	uint8_t *scratch;
};

/* Allocate room for n rows, or for as many as fit about half a MiB. The caller releases the rows,
 * also on failure. Returns 0 or -ENOMEM. */
int merge_rows_init(struct merge_rows *rows, const struct merge_tensor *tensor, uint64_t n);
void merge_rows_release(struct merge_rows *rows);

/* Read n rows of each model from row first on; n is at most rows->most. flags, stop and the result
 * are those of backing_read_cancellable(). */
int merge_rows_read(struct merge_rows *rows, unsigned flags, uint64_t first, size_t n,
		    const atomic_bool *stop);

/* Bytes of an encoded row of that many values. */
uint64_t merge_row_bytes(uint32_t type, uint64_t columns);

#endif
