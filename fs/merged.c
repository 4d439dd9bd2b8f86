/* SPDX-License-Identifier: MIT */
/* merged.c - see merged.h. */
#include "fs/merged.h"
#include "fs/rows.h"
#include "gguf/dequant.h"
#include "measure/lora.h"
#include "measure/quantise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the tensor that are read at a time, if a row is not longer. */
#define CHUNK ((size_t)1 << 18)

struct merged {
	struct merge merge;
	struct matrices *matrices;
	size_t w_bytes, bytes; /* of a row, of the tensor and of the result */
};

/* What one read works with. */
struct work {
	const struct merged *merged;
	bool spans;
	uint64_t expert, first; /* the rows are those of one expert, from this one on */
	size_t n;
	uint8_t *w; /* of the rows, as they lie in the file */
	float *rows;
};

static bool same_data(const struct merge_data *a, const struct merge_data *b)
{
	return a->file == b->file && a->offset == b->offset && a->type == b->type;
}

bool merge_same(const struct merge *a, const struct merge *b)
{
	bool same = same_data(&a->w, &b->w) && a->type == b->type && a->n == b->n &&
		    memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;

	for (uint32_t i = 0; same && i < a->n; i++) {
		const struct merge_pair *p = &a->pairs[i], *q = &b->pairs[i];

		same = same_data(&p->a, &q->a) && same_data(&p->b, &q->b) && p->rank == q->rank &&
		       p->flipped == q->flipped && p->factor == q->factor;
	}
	return same;
}

uint32_t merge_type(uint32_t type, uint64_t length, bool f16)
{
	if (type == GGML_F32 || type == GGML_F64)
		return GGML_F32;
	if (f16 || type == GGML_F16)
		return GGML_F16;
	if (type == GGML_BF16)
		return GGML_BF16;
	return length % QUANTISE_Q8_0_VALUES == 0 ? GGML_Q8_0 : GGML_F16;
}

static void release(void *context)
{
	struct merged *merged = context;

	backing_unref(merged->merge.w.file);
	for (uint32_t i = 0; i < merged->merge.n; i++) {
		backing_unref(merged->merge.pairs[i].a.file);
		backing_unref(merged->merge.pairs[i].b.file);
	}
	matrices_unref(merged->matrices);
	free(merged);
}

/* The matrix that every row of an expert is made with: A, or B with its axes exchanged. */
static const struct matrix *get_matrix(const struct work *work, const struct merge_pair *pair,
				       int *rc)
{
	const uint64_t length = work->merged->merge.ne[0];
	const struct merge_data *data = pair->flipped ? &pair->b : &pair->a;
	struct matrix_at at = { .file = data->file,
				.type = data->type,
				.rows = pair->flipped ? length : pair->rank,
				.length = pair->flipped ? pair->rank : length,
				.turned = pair->flipped };

	at.offset = data->offset + work->expert * at.rows * matrix_row_bytes(at.type, at.length);
	return matrices_get(work->merged->matrices, &at, work->spans, rc);
}

/* Add a pair to the rows: each takes its row of B, of A where they are flipped. */
static int add_pair(const struct work *work, const struct merge_pair *pair)
{
	const struct merge *merge = &work->merged->merge;
	const struct merge_data *data = pair->flipped ? &pair->a : &pair->b;
	const size_t n = (size_t)matrix_row_bytes(data->type, pair->rank);
	const uint64_t at = data->offset + (work->expert * merge->ne[1] + work->first) * n;
	const uint64_t blocks = pair->rank / type_find(data->type)->block_elements;
	uint8_t *bytes = malloc(work->n * n);
	float *row = malloc((size_t)pair->rank * sizeof(*row));
	const struct matrix *matrix = NULL;
	int rc = -ENOMEM;

	if (bytes && row)
		rc = matrix_fetch(data->file, work->spans, bytes, work->n * n, at);
	if (rc == 0)
		matrix = get_matrix(work, pair, &rc);
	for (size_t i = 0; matrix && i < work->n; i++) {
		dequant_blocks(data->type, bytes + i * n, blocks, row);
		lora_add(work->rows + i * merge->ne[0], (size_t)merge->ne[0], matrix_values(matrix),
			 row, (size_t)pair->rank, pair->factor);
	}
	matrix_put(matrix);
	free(bytes);
	free(row);
	return rc;
}

static void store(const struct merge *merge, const float *values, size_t n, uint8_t *bytes)
{
	const size_t count = n * (size_t)merge->ne[0];

	switch (merge->type) {
	case GGML_F32:
		memcpy(bytes, values, count * sizeof(*values));
		break;
	case GGML_F16:
		quantise_f16(values, count, bytes);
		break;
	case GGML_BF16:
		quantise_bf16(values, count, bytes);
		break;
	default:
		quantise_q8_0(values, count, bytes);
		break;
	}
}

static int make_some(const struct work *work, uint8_t *bytes)
{
	const struct merged *merged = work->merged;
	const struct merge *merge = &merged->merge;
	const uint64_t row = work->expert * merge->ne[1] + work->first;
	const uint64_t blocks = merge->ne[0] / type_find(merge->w.type)->block_elements * work->n;
	int rc = matrix_fetch(merge->w.file, work->spans, work->w, work->n * merged->w_bytes,
			      merge->w.offset + row * merged->w_bytes);

	if (rc == 0)
		dequant_blocks(merge->w.type, work->w, blocks, work->rows);
	for (uint32_t i = 0; rc == 0 && i < merge->n; i++)
		rc = add_pair(work, &merge->pairs[i]);
	if (rc == 0)
		store(merge, work->rows, work->n, bytes);
	return rc;
}

static int make(void *context, bool spans, uint64_t first, size_t n, void *bytes)
{
	const struct merged *merged = context;
	const struct merge *merge = &merged->merge;
	const size_t fit = CHUNK / merged->w_bytes, most = fit == 0 ? 1 : fit < n ? fit : n;
	struct work work = { .merged = merged, .spans = spans };
	uint8_t *to = bytes;
	int rc = -ENOMEM;

	work.w = malloc(most * merged->w_bytes);
	work.rows = calloc(most, (size_t)merge->ne[0] * sizeof(float));
	if (work.w && work.rows)
		rc = 0;
	while (rc == 0 && n) {
		const uint64_t left = merge->ne[1] - first % merge->ne[1];

		work.expert = first / merge->ne[1];
		work.first = first % merge->ne[1];
		work.n = n < most ? n : most;
		work.n = work.n < left ? work.n : (size_t)left;
		rc = make_some(&work, to);
		to += work.n * merged->bytes;
		first += work.n;
		n -= work.n;
	}
	free(work.w);
	free(work.rows);
	return rc;
}

struct backing *merged_new(const struct merge *merge, struct matrices *matrices,
			   const struct merge **kept)
{
	struct merged *merged = calloc(1, sizeof(*merged));
	struct row_source source = { .make = make, .release = release, .context = merged };

	if (!merged)
		return NULL;
	merged->merge = *merge;
	merged->matrices = matrices_ref(matrices);
	merged->w_bytes = (size_t)matrix_row_bytes(merge->w.type, merge->ne[0]);
	merged->bytes = (size_t)matrix_row_bytes(merge->type, merge->ne[0]);
	backing_ref(merge->w.file);
	for (uint32_t i = 0; i < merge->n; i++) {
		backing_ref(merge->pairs[i].a.file);
		backing_ref(merge->pairs[i].b.file);
	}
	source.n = merge->ne[1] * merge->ne[2] * merge->ne[3];
	source.length = merged->bytes;
	*kept = &merged->merge;
	return rows_new(&source, merge->w.file);
}
