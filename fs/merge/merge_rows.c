/* SPDX-License-Identifier: MIT */
/* merge_rows.c - see merge_rows.h. */
#include "fs/merge/merge_rows.h"
#include "fs/merge/merge_tensor.h"
#include "fs/tensor/codec.h"
#include "gguf/types.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes of decoded values in memory, of all models together, unless a single row is longer. */
#define CHUNK ((uint64_t)1 << 19)

uint64_t merge_row_bytes(uint32_t type, uint64_t columns)
{
	const struct type_info *info = type_find(type);

	return columns / info->block_elements * info->block_bytes;
}

int merge_rows_init(struct merge_rows *rows, const struct merge_tensor *tensor, uint64_t n)
{
	const struct merge_rule *rule = &tensor->rule;
	const size_t models = rule->n + (merge_uses_base(rule) ? 1u : 0u);
	const uint64_t all = models * rule->columns * sizeof(float);
	const uint64_t fit = CHUNK / all ? CHUNK / all : 1;

	*rows = (struct merge_rows){ .tensor = tensor, .most = (size_t)(n < fit ? n : fit) };
	rows->scratch = malloc(DECODE_SCRATCH);
	rows->values = calloc(rows->most, (size_t)all);
	if (!rows->scratch || !rows->values)
		return -ENOMEM;
	for (unsigned i = 0; i < rule->n; i++)
		rows->inputs[i] = rows->values + i * rows->most * (size_t)rule->columns;
	if (models > rule->n)
		rows->base = rows->values + rule->n * rows->most * (size_t)rule->columns;
	return 0;
}

void merge_rows_release(struct merge_rows *rows)
{
	free(rows->scratch);
	free(rows->values);
}

static int read_data(struct merge_rows *rows, const struct merge_data *data, unsigned flags,
		     uint64_t first, size_t n, float *values, const atomic_bool *stop)
{
	const uint64_t blocks = rows->tensor->rule.columns / type_find(data->type)->block_elements;

	return decode_read(data->file, data->offset, data->type, flags, first * blocks, n * blocks,
			   rows->scratch, values, stop);
}

int merge_rows_read(struct merge_rows *rows, unsigned flags, uint64_t first, size_t n,
		    const atomic_bool *stop)
{
	const struct merge_tensor *tensor = rows->tensor;
	int rc = 0;

	if (rows->base)
		rc = read_data(rows, &tensor->base, flags, first, n, rows->base, stop);
	for (unsigned i = 0; rc == 0 && i < tensor->rule.n; i++)
		rc = read_data(rows, &tensor->inputs[i], flags, first, n, rows->inputs[i], stop);
	return rc;
}
