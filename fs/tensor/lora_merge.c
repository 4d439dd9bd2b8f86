/* SPDX-License-Identifier: MIT */
/* lora_merge.c - see lora_merge.h. */
#include "fs/tensor/lora_merge.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/matrix_cache.h"
#include "gguf/control_vector.h"
#include "gguf/organ.h"
#include "measure/lora.h"
#include "measure/orthonormal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* bytes of values processed at a time, unless a row is longer */
#define CHUNK ((size_t)1 << 18)

struct lora_merge_source {
	struct lora_merge merge;
	struct matrix_cache *matrices;
	size_t bytes; /* of one row of the result */
};

/* State of one read. */
struct lora_merge_read {
	const struct lora_merge_source *merged;
	unsigned flags;
	const atomic_bool *stop;
	uint32_t n_pairs; /* number of pairs to merge, the first ones */
	/* Processes the next rows, which come in their order. Returns 0 or -errno. */
	int (*use)(struct lora_merge_read *work);
	void *to;		/* output of use() */
	uint64_t expert, first; /* the rows belong to this expert and begin at this one */
	size_t n;
	uint8_t *scratch; /* DECODE_SCRATCH bytes */
	float *rows;
	/* For pairs with directions: this expert's vectors V, and V W. Held for the whole read,
	 * since a matrix that the cache has evicted meanwhile would need another pass. */
	const struct matrix *vectors[LORA_MERGE_PAIRS_MAX], *products[LORA_MERGE_PAIRS_MAX];
	struct importance_weights weights;
};

static bool same_data(const struct lora_merge_data *a, const struct lora_merge_data *b)
{
	return a->file == b->file && a->offset == b->offset && a->type == b->type;
}

bool lora_merge_same(const struct lora_merge *a, const struct lora_merge *b)
{
	bool same = same_data(&a->w, &b->w) && a->type == b->type && a->n == b->n &&
		    a->importance == b->importance && memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;

	for (uint32_t i = 0; same && i < a->n; i++) {
		const struct lora_merge_pair *p = &a->pairs[i], *q = &b->pairs[i];

		same = same_data(&p->a, &q->a) && same_data(&p->b, &q->b) && p->rank == q->rank &&
		       p->flipped == q->flipped && p->factor == q->factor &&
		       p->keeps_norm == q->keeps_norm;
	}
	return same;
}

static uint64_t row_bytes(uint32_t type, uint64_t length)
{
	const struct type_info *info = type_find(type);

	return length / info->block_elements * info->block_bytes;
}

/* Read n rows of `length` values of a tensor, from that one on. */
static int read_rows(const struct lora_merge_read *work, const struct lora_merge_data *data,
		     uint64_t first, size_t n, uint64_t length, float *values)
{
	const uint64_t blocks = length / type_find(data->type)->block_elements;

	return decode_read(data->file, data->offset, data->type, work->flags, first * blocks,
			   n * blocks, work->scratch, values, work->stop);
}

/* The half that every row needs as a whole: A, or B if the pair is flipped or has no A. */
static const struct lora_merge_data *shared_half(const struct lora_merge_pair *pair)
{
	return pair->flipped || !pair->a.file ? &pair->b : &pair->a;
}

static void release(void *context)
{
	struct lora_merge_source *merged = context;

	backing_unref(merged->merge.w.file);
	for (uint32_t i = 0; i < merged->merge.n; i++) {
		/* Drop cached matrices, so that the file is closed and its disk can be
		 * unmounted. */
		matrix_cache_drop_file(merged->matrices,
				       shared_half(&merged->merge.pairs[i])->file);
		backing_unref(merged->merge.pairs[i].a.file);
		backing_unref(merged->merge.pairs[i].b.file);
	}
	matrix_cache_unref(merged->matrices);
	importance_matrix_unref(merged->merge.importance);
	free((char *)merged->merge.name);
	free(merged);
}

/* The matrix for every row of an expert: A, or B transposed. */
static const struct matrix *get_matrix(const struct lora_merge_read *work,
				       const struct lora_merge_pair *pair, int *rc)
{
	const uint64_t length = work->merged->merge.ne[0];
	const struct lora_merge_data *data = shared_half(pair);
	struct matrix_key at = { .file = data->file,
				 .type = data->type,
				 .rows = pair->flipped ? length : pair->rank,
				 .length = pair->flipped ? pair->rank : length,
				 .transposed = pair->flipped };

	at.offset = data->offset + work->expert * at.rows * row_bytes(at.type, at.length);
	return matrix_cache_get(work->merged->matrices, &at, work->flags, work->stop, rc);
}

/* Add a pair to the rows, each with its row of B, or of A if the pair is flipped. */
static int add_pair(const struct lora_merge_read *work, const struct lora_merge_pair *pair)
{
	const struct lora_merge *merge = &work->merged->merge;
	const size_t rank = (size_t)pair->rank, length = (size_t)merge->ne[0];
	float *factors = calloc(work->n, rank * sizeof(*factors));
	const struct matrix *matrix = NULL;
	int rc = -ENOMEM;

	if (factors)
		rc = read_rows(work, pair->flipped ? &pair->a : &pair->b,
			       work->expert * merge->ne[1] + work->first, work->n, rank, factors);
	if (rc == 0)
		matrix = get_matrix(work, pair, &rc);
	for (size_t i = 0; matrix && i < work->n; i++)
		lora_add(work->rows + i * length, length, matrix_values(matrix), factors + i * rank,
			 rank, pair->factor);
	matrix_cache_put(matrix);
	free(factors);
	return rc;
}

/* A pair with directions, and the vectors V. */
struct directions {
	const struct lora_merge_read *work;
	const struct lora_merge_pair *pair;
	size_t channels;
	const struct matrix *vectors;
	float *products; /* V W, during its computation */
	double *squares; /* of the columns of W, summed; NULL: not needed */
};

static int compute_vectors(void *context, float *values)
{
	const struct directions *of = context;
	const size_t rank = (size_t)of->pair->rank, n = of->channels;
	double *columns = calloc(n + 2, rank * sizeof(*columns));
	int rc = columns ? read_rows(of->work, &of->pair->b, 0, rank, n, values) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n * rank; i++)
		columns[i % n * rank + i / n] = values[i];
	if (rc == 0)
		orthonormalise(columns, n, rank, columns + n * rank, NULL, NULL);
	for (size_t i = 0; rc == 0 && i < n * rank; i++)
		values[i] = (float)columns[i % n * rank + i / n];
	free(columns);
	return rc;
}

static const struct matrix *get_vectors(struct directions *of, int *rc)
{
	const struct matrix_key at = { .file = of->pair->b.file,
				       .offset = of->pair->b.offset,
				       .rows = of->pair->rank,
				       .length = of->channels,
				       .computed = &of->pair->b };

	return matrix_cache_compute(of->work->merged->matrices, &at, compute_vectors, of,
				    of->work->stop, rc);
}

static int add_products(struct lora_merge_read *work)
{
	const struct directions *of = work->to;
	const size_t length = (size_t)work->merged->merge.ne[0];
	const float *vectors = matrix_values(of->vectors);

	if (work->stop && atomic_load(work->stop))
		return -EINTR;
	for (size_t r = 0; r < of->pair->rank; r++)
		lora_add(of->products + r * length, length, work->rows,
			 vectors + r * of->channels + work->first, work->n, 1.0f);
	for (size_t i = 0; of->squares && i < work->n; i++)
		for (size_t j = 0; j < length; j++)
			of->squares[j] += (double)work->rows[i * length + j] *
					  (double)work->rows[i * length + j];
	return 0;
}

/* a vector with a smaller part of its squared length left is not stretched */
#define LEAST_LEFT 1e-6

/* Factor that restores the length of a vector w after w + factor * V' (V w). square and along are
 * the squared lengths of w and V w. */
static float gain(double square, double along, float factor)
{
	const double left = square + ((double)factor + 2.0) * (double)factor * along;

	return left > LEAST_LEFT * square ? (float)sqrt(square / left) : 1.0f;
}

/* Store the gain of each column after the products. */
static void add_gains(const struct directions *of, size_t length)
{
	const size_t rank = (size_t)of->pair->rank;

	for (size_t j = 0; j < length; j++) {
		double along = 0.0;

		for (size_t r = 0; r < rank; r++)
			along += (double)of->products[r * length + j] *
				 (double)of->products[r * length + j];
		of->products[rank * length + j] = gain(of->squares[j], along, of->pair->factor);
	}
}

/* Rows of V W, and one for the gains. */
static uint64_t product_rows(const struct lora_merge_pair *pair)
{
	return pair->rank + pair->keeps_norm;
}

static int walk(struct lora_merge_read *work, uint64_t first, uint64_t n);

static int compute_products(void *context, float *values)
{
	struct directions *of = context;
	const struct lora_merge *merge = &of->work->merged->merge;
	struct lora_merge_read pass = { .merged = of->work->merged,
					.stop = of->work->stop,
					.n_pairs = (uint32_t)(of->pair - merge->pairs),
					.use = add_products,
					.to = of };
	int rc = 0;

	of->products = values;
	memset(values, 0, (size_t)(product_rows(of->pair) * merge->ne[0]) * sizeof(*values));
	if (of->pair->keeps_norm && !(of->squares = calloc(merge->ne[0], sizeof(*of->squares))))
		rc = -ENOMEM;
	if (rc == 0)
		rc = walk(&pass, of->work->expert * merge->ne[1], merge->ne[1]);
	if (rc == 0 && of->squares)
		add_gains(of, (size_t)merge->ne[0]);
	free(of->squares);
	of->squares = NULL;
	return rc;
}

static const struct matrix *get_products(struct directions *of, int *rc)
{
	const struct matrix_key at = { .file = of->pair->b.file,
				       .offset = of->work->expert,
				       .rows = product_rows(of->pair),
				       .length = of->work->merged->merge.ne[0],
				       .computed = &of->pair->a };

	return matrix_cache_compute(of->work->merged->matrices, &at, compute_products, of,
				    of->work->stop, rc);
}

static double dot(const float *a, const float *b, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)a[i] * (double)b[i];
	return sum;
}

/* Add to each row its part of V' (V W). */
static void add_projection(const struct lora_merge_read *work, const struct directions *of,
			   const float *vectors, const float *matrix)
{
	const size_t length = (size_t)work->merged->merge.ne[0], rank = (size_t)of->pair->rank;
	const float *gains = matrix + rank * length;
	float factors[CONTROL_VECTOR_ROWS_MAX];

	for (size_t i = 0; i < work->n; i++) {
		float *row = work->rows + i * length;
		float stretch = 1.0f;

		for (size_t r = 0; r < rank; r++)
			factors[r] = of->pair->flipped
					     ? (float)dot(vectors + r * length, row, length)
					     : vectors[r * of->channels + work->first + i];
		if (of->pair->keeps_norm && of->pair->flipped)
			stretch = gain(dot(row, row, length), dot(factors, factors, rank),
				       of->pair->factor);
		lora_add(row, length, matrix, factors, rank, of->pair->factor);
		for (size_t j = 0; of->pair->keeps_norm && j < length; j++)
			row[j] *= of->pair->flipped ? stretch : gains[j];
	}
}

static int add_directions(struct lora_merge_read *work, uint32_t i)
{
	const struct lora_merge_pair *pair = &work->merged->merge.pairs[i];
	struct directions of = { .work = work,
				 .pair = pair,
				 .channels = (size_t)work->merged->merge.ne[!pair->flipped] };
	int rc = 0;

	if (!work->vectors[i])
		work->vectors[i] = get_vectors(&of, &rc);
	of.vectors = work->vectors[i];
	if (rc == 0 && !pair->flipped && !work->products[i])
		work->products[i] = get_products(&of, &rc);
	if (rc == 0)
		add_projection(work, &of, matrix_values(of.vectors),
			       matrix_values(pair->flipped ? of.vectors : work->products[i]));
	return rc;
}

/* Release the matrices after the last row of an expert, or of the read. */
static void put_matrices(struct lora_merge_read *work)
{
	for (uint32_t i = 0; i < work->n_pairs; i++) {
		matrix_cache_put(work->vectors[i]);
		matrix_cache_put(work->products[i]);
		work->vectors[i] = work->products[i] = NULL;
	}
}

static int encode(struct lora_merge_read *work)
{
	const struct lora_merge *merge = &work->merged->merge;
	struct organ organ = { .name = merge->name, .name_length = merge->name_length };
	uint8_t *bytes = work->to;

	work->to = bytes + work->n * work->merged->bytes;
	memcpy(organ.ne, merge->ne, sizeof(organ.ne));
	return importance_matrix_encode(merge->importance, &organ, merge->type,
					work->expert * merge->ne[1] + work->first, work->n,
					work->rows, bytes, &work->weights);
}

static int use_some(struct lora_merge_read *work)
{
	const struct lora_merge *merge = &work->merged->merge;
	int rc = read_rows(work, &merge->w, work->expert * merge->ne[1] + work->first, work->n,
			   merge->ne[0], work->rows);

	for (uint32_t i = 0; rc == 0 && i < work->n_pairs; i++)
		rc = merge->pairs[i].a.file ? add_pair(work, &merge->pairs[i])
					    : add_directions(work, i);
	return rc < 0 ? rc : work->use(work);
}

/* Length of the longest row, of the tensor or a pair, in values. */
static uint64_t widest(const struct lora_merge *merge)
{
	uint64_t width = merge->ne[0];

	for (uint32_t i = 0; i < merge->n; i++)
		if (merge->pairs[i].rank > width)
			width = merge->pairs[i].rank;
	return width;
}

/* Pass n rows of all experts, from first on, to work->use(). */
static int walk(struct lora_merge_read *work, uint64_t first, uint64_t n)
{
	const struct lora_merge *merge = &work->merged->merge;
	const size_t fit = CHUNK / sizeof(float) / (size_t)widest(merge);
	const size_t most = fit == 0 ? 1 : fit < n ? fit : (size_t)n;
	int rc = -ENOMEM;

	work->scratch = malloc(DECODE_SCRATCH);
	work->rows = calloc(most, (size_t)merge->ne[0] * sizeof(float));
	if (work->scratch && work->rows)
		rc = 0;
	while (rc == 0 && n) {
		const uint64_t left = merge->ne[1] - first % merge->ne[1];

		if (first % merge->ne[1] == 0)
			put_matrices(work);
		work->expert = first / merge->ne[1];
		work->first = first % merge->ne[1];
		work->n = n < most ? (size_t)n : most;
		work->n = work->n < left ? work->n : (size_t)left;
		rc = use_some(work);
		first += work->n;
		n -= work->n;
	}
	put_matrices(work);
	free(work->scratch);
	free(work->rows);
	free(work->weights.values);
	return rc;
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	const struct lora_merge_source *merged = context;
	struct lora_merge_read work = { .merged = merged,
					.flags = flags,
					.stop = stop,
					.n_pairs = merged->merge.n,
					.use = encode,
					.to = bytes };

	return walk(&work, first, n);
}

struct backing *lora_merge_new(const struct lora_merge *merge, struct matrix_cache *matrices,
			       const struct lora_merge **kept)
{
	struct lora_merge_source *merged = calloc(1, sizeof(*merged));
	struct computed_rows_source source = { .make = make,
					       .release = release,
					       .context = merged };

	if (!merged)
		return NULL;
	merged->merge = *merge;
	merged->merge.name = NULL;
	if (merge->importance)
		importance_matrix_ref(merge->importance);
	merged->matrices = matrix_cache_ref(matrices);
	merged->bytes = (size_t)row_bytes(merge->type, merge->ne[0]);
	backing_ref(merge->w.file);
	for (uint32_t i = 0; i < merge->n; i++) {
		if (merge->pairs[i].a.file)
			backing_ref(merge->pairs[i].a.file);
		backing_ref(merge->pairs[i].b.file);
	}
	if (merge->importance) {
		char *name = malloc(merge->name_length + 1u);

		if (!name) {
			release(merged);
			return NULL;
		}
		merged->merge.name = memcpy(name, merge->name, merge->name_length);
	}
	source.n = merge->ne[1] * merge->ne[2] * merge->ne[3];
	source.length = merged->bytes;
	*kept = &merged->merge;
	return computed_rows_new(&source, merge->w.file);
}
