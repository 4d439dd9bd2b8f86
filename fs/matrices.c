/* SPDX-License-Identifier: MIT */
/* matrices.c - see matrices.h. A list, the last one used first. */
#include "fs/matrices.h"
#include "fs/floats.h"
#include "gguf/types.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct matrix {
	atomic_uint refs; /* that of the list, and one for each user */
	struct matrix_at at;
	size_t bytes;
	struct matrix *next;
	float values[];
};

struct matrices {
	atomic_uint refs;
	pthread_mutex_t lock; /* protects what follows; held while a matrix is read */
	struct matrix *first;
	size_t bytes;
};

struct matrices *matrices_new(void)
{
	struct matrices *matrices = calloc(1, sizeof(*matrices));

	if (!matrices)
		return NULL;
	atomic_init(&matrices->refs, 1);
	pthread_mutex_init(&matrices->lock, NULL);
	return matrices;
}

struct matrices *matrices_ref(struct matrices *matrices)
{
	atomic_fetch_add(&matrices->refs, 1);
	return matrices;
}

void matrix_put(const struct matrix *matrix)
{
	struct matrix *mine = (struct matrix *)matrix;

	if (!mine || atomic_fetch_sub(&mine->refs, 1) != 1)
		return;
	backing_unref(mine->at.file);
	free(mine);
}

void matrices_unref(struct matrices *matrices)
{
	if (!matrices || atomic_fetch_sub(&matrices->refs, 1) != 1)
		return;
	while (matrices->first) {
		struct matrix *next = matrices->first->next;

		matrix_put(matrices->first);
		matrices->first = next;
	}
	pthread_mutex_destroy(&matrices->lock);
	free(matrices);
}

const float *matrix_values(const struct matrix *matrix)
{
	return matrix->values;
}

static bool is_same(const struct matrix_at *a, const struct matrix_at *b)
{
	return a->file == b->file && a->offset == b->offset && a->rows == b->rows &&
	       a->length == b->length && a->type == b->type && a->turned == b->turned;
}

/* Decode into values, row by row where they are to be turned. */
static int decode(const struct matrix_at *at, bool spans, uint8_t *scratch, float *row,
		  float *values)
{
	const uint64_t blocks = at->length / type_find(at->type)->block_elements;

	if (!at->turned)
		return floats_read(at->file, at->offset, at->type, spans, 0, at->rows * blocks,
				   scratch, values);
	for (uint64_t i = 0; i < at->rows; i++) {
		const int rc = floats_read(at->file, at->offset, at->type, spans, i * blocks,
					   blocks, scratch, row);

		if (rc < 0)
			return rc;
		for (uint64_t r = 0; r < at->length; r++)
			values[r * at->rows + i] = row[r];
	}
	return 0;
}

static struct matrix *read_matrix(const struct matrix_at *at, bool spans, int *rc)
{
	const size_t bytes = (size_t)(at->rows * at->length) * sizeof(float);
	struct matrix *matrix = malloc(sizeof(*matrix) + bytes);
	uint8_t *scratch = malloc(FLOATS_SCRATCH);
	float *row = malloc((size_t)at->length * sizeof(*row));

	*rc = matrix && scratch && row ? decode(at, spans, scratch, row, matrix->values) : -ENOMEM;
	free(scratch);
	free(row);
	if (*rc < 0) {
		free(matrix);
		return NULL;
	}
	atomic_init(&matrix->refs, 1);
	matrix->at = *at;
	matrix->bytes = bytes;
	backing_ref(at->file);
	return matrix;
}

/* With the lock held. */
static void forget_last(struct matrices *matrices)
{
	struct matrix **link = &matrices->first;

	while ((*link)->next)
		link = &(*link)->next;
	matrices->bytes -= (*link)->bytes;
	matrix_put(*link);
	*link = NULL;
}

/* With the lock held: the matrix from the list, which it leaves. NULL: it is not there. */
static struct matrix *take(struct matrices *matrices, const struct matrix_at *at)
{
	struct matrix **link = &matrices->first, *matrix;

	while (*link && !is_same(&(*link)->at, at))
		link = &(*link)->next;
	matrix = *link;
	if (matrix) {
		*link = matrix->next;
		matrices->bytes -= matrix->bytes;
	}
	return matrix;
}

void matrices_empty(struct matrices *matrices)
{
	pthread_mutex_lock(&matrices->lock);
	while (matrices->first)
		forget_last(matrices);
	pthread_mutex_unlock(&matrices->lock);
}

const struct matrix *matrices_get(struct matrices *matrices, const struct matrix_at *at, bool spans,
				  int *rc)
{
	struct matrix *matrix;

	*rc = 0;
	pthread_mutex_lock(&matrices->lock);
	matrix = take(matrices, at);
	if (!matrix)
		matrix = read_matrix(at, spans, rc);
	if (matrix) {
		matrix->next = matrices->first;
		matrices->first = matrix;
		matrices->bytes += matrix->bytes;
		while (matrices->bytes > MATRICES_KEPT && matrices->first->next)
			forget_last(matrices);
		atomic_fetch_add(&matrix->refs, 1);
	}
	pthread_mutex_unlock(&matrices->lock);
	return matrix;
}
