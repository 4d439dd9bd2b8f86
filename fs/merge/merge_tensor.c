/* SPDX-License-Identifier: MIT */
/* merge_tensor.c - see merge_tensor.h. */
#include "fs/merge/merge_tensor.h"
#include "fs/merge/merge_passes.h"
#include "fs/merge/merge_rows.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "fs/tensor/importance_matrix.h"
#include "gguf/organ.h"
#include "gguf/quant.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct merged_tensor {
	struct merge_tensor tensor;
	size_t bytes; /* of a row of the result */
	struct merge_passes passes;
};

static bool has_one_axis(const uint64_t ne[GGML_AXES])
{
	bool one = true;

	for (unsigned i = 1; i < GGML_AXES; i++)
		one = one && ne[i] == 1;
	return one;
}

uint32_t merge_tensor_type(uint32_t type, const uint64_t ne[GGML_AXES], uint32_t wanted,
			   enum encode_choice choice)
{
	if (wanted == MERGE_TYPE_AS_IS || has_one_axis(ne) || !encode_supported(wanted, ne[0]))
		return encode_type(type, ne[0], choice);
	return wanted;
}

/* Clamp finite values to the range of the result's type. */
static void limit(float *values, size_t n, float most)
{
	for (size_t i = 0; i < n; i++) {
		const float x = values[i], limited = x > most ? most : x < -most ? -most : x;

		values[i] = isinf(x) ? x : limited;
	}
}

/* Merge n decoded rows in place; the result overwrites the first input's rows. */
static void merge_some(const struct merged_tensor *merged, const struct merge_rows *rows,
		       uint64_t first, size_t n, void *scratch)
{
	const struct merge_rule *rule = &merged->tensor.rule;
	const size_t columns = (size_t)rule->columns;

	for (size_t row = 0; row < n; row++) {
		const float *inputs[MERGE_INPUTS_MAX];

		for (unsigned i = 0; i < rule->n; i++)
			inputs[i] = rows->inputs[i] + row * columns;
		merge_row(&merged->passes.merge, first + row,
			  rows->base ? rows->base + row * columns : NULL, inputs, scratch,
			  rows->inputs[0] + row * columns);
	}
	limit(rows->inputs[0], n * columns, quant_max(merged->tensor.type));
}

static int encode(const struct merge_tensor *tensor, const float *values, uint64_t first, size_t n,
		  uint8_t *bytes, struct importance_weights *weights)
{
	struct organ organ = { .name = tensor->name, .name_length = tensor->name_length };

	memcpy(organ.ne, tensor->ne, sizeof(organ.ne));
	return importance_matrix_encode(tensor->importance, &organ, tensor->type, first, n, values,
					bytes, weights);
}

static int merge_all(const struct merged_tensor *merged, unsigned flags, uint64_t first, size_t n,
		     uint8_t *bytes, const atomic_bool *stop)
{
	void *scratch = malloc(merge_row_scratch(&merged->tensor.rule) + 1);
	struct importance_weights weights = { 0 };
	struct merge_rows rows;
	int rc = merge_rows_init(&rows, &merged->tensor, n);

	if (!scratch)
		rc = -ENOMEM;
	while (rc == 0 && n) {
		const size_t part = n < rows.most ? n : rows.most;

		rc = merge_rows_read(&rows, flags, first, part, stop);
		if (rc == 0) {
			merge_some(merged, &rows, first, part, scratch);
			rc = encode(&merged->tensor, rows.inputs[0], first, part, bytes, &weights);
		}
		bytes += part * merged->bytes;
		first += part;
		n -= part;
	}
	merge_rows_release(&rows);
	free(weights.values);
	free(scratch);
	return rc;
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	struct merged_tensor *merged = context;
	const struct merge_data *of = merge_passes_first(&merged->tensor);
	const int rc = merge_passes_find(&merged->passes, stop);

	if (rc < 0)
		return rc;
	if (!merged->passes.same)
		return merge_all(merged, flags, first, n, bytes, stop);
	return backing_read_cancellable(of->file, flags, bytes, n * merged->bytes,
					of->offset + first * merged->bytes, stop);
}

static void release(void *context)
{
	struct merged_tensor *merged = context;

	merge_passes_release(&merged->passes);
	backing_unref(merged->tensor.base.file);
	for (unsigned i = 0; i < merged->tensor.rule.n; i++)
		backing_unref(merged->tensor.inputs[i].file);
	importance_matrix_unref(merged->tensor.importance);
	free((char *)merged->tensor.name);
	free(merged);
}

static bool fits_memory(const struct merge_rule *rule)
{
	return rule->columns <= SIZE_MAX / sizeof(float) / (MERGE_INPUTS_MAX + 1) &&
	       merge_scratch(rule) < SIZE_MAX && merge_row_scratch(rule) < SIZE_MAX;
}

struct backing *merge_tensor_new(const struct merge_tensor *tensor,
				 const struct merge_tensor **kept)
{
	struct merged_tensor *merged =
		fits_memory(&tensor->rule) ? calloc(1, sizeof(*merged)) : NULL;
	struct computed_rows_source source = { .make = make,
					       .release = release,
					       .context = merged };

	if (!merged)
		return NULL;
	merged->tensor = *tensor;
	merged->tensor.name = NULL;
	merged->bytes = (size_t)merge_row_bytes(tensor->type, tensor->rule.columns);
	merge_passes_init(&merged->passes, &merged->tensor);
	if (tensor->base.file)
		backing_ref(tensor->base.file);
	for (unsigned i = 0; i < tensor->rule.n; i++)
		backing_ref(tensor->inputs[i].file);
	if (tensor->importance) {
		char *name = malloc(tensor->name_length + 1u);

		importance_matrix_ref(tensor->importance);
		if (!name) {
			release(merged);
			return NULL;
		}
		merged->tensor.name = memcpy(name, tensor->name, tensor->name_length);
	}
	*kept = &merged->tensor;
	source.n = merged->bytes ? tensor->rule.rows : 0;
	source.length = merged->bytes ? merged->bytes : 1;
	return computed_rows_new(&source, merge_passes_first(tensor)->file);
}
