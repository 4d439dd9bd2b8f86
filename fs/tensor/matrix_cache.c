/* SPDX-License-Identifier: MIT */
/* matrices.c - see matrices.h. A list, the last one used first. */
#include "fs/tensor/matrix_cache.h"
#include "fs/tensor/decode.h"
#include "gguf/types.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Immutable once it is read, which is before anybody has it. */
struct matrix {
	atomic_uint refs; /* that of the list, and one for each user */
	struct matrix_at at;
	size_t bytes;
	struct matrix *next;
	pthread_mutex_t lock; /* held while it is read: whoever else wants it waits */
	bool is_read;	      /* else the next one who wants it tries */
	float values[];
};

struct matrices {
	atomic_uint refs;
	pthread_mutex_t lock; /* protects what follows */
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
	pthread_mutex_destroy(&mine->lock);
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

/* One that is not read yet. NULL: out of memory. */
static struct matrix *new_matrix(const struct matrix_at *at)
{
	const size_t bytes = (size_t)(at->rows * at->length) * sizeof(float);
	struct matrix *matrix = malloc(sizeof(*matrix) + bytes);

	if (!matrix)
		return NULL;
	atomic_init(&matrix->refs, 1);
	pthread_mutex_init(&matrix->lock, NULL);
	matrix->is_read = false;
	matrix->at = *at;
	matrix->bytes = bytes;
	backing_ref(at->file);
	return matrix;
}

/* With its lock held. */
static int read_matrix(struct matrix *matrix, bool spans)
{
	const struct matrix_at *at = &matrix->at;
	uint8_t *scratch = malloc(FLOATS_SCRATCH);
	float *row = malloc((size_t)at->length * sizeof(*row));
	const int rc = scratch && row ? decode(at, spans, scratch, row, matrix->values) : -ENOMEM;

	free(scratch);
	free(row);
	matrix->is_read = rc == 0;
	return rc;
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

void matrices_forget(struct matrices *matrices, const struct backing *file)
{
	pthread_mutex_lock(&matrices->lock);
	for (struct matrix **link = &matrices->first; *link;) {
		struct matrix *matrix = *link;

		if (matrix->at.file != file) {
			link = &matrix->next;
			continue;
		}
		*link = matrix->next;
		matrices->bytes -= matrix->bytes;
		matrix_put(matrix);
	}
	pthread_mutex_unlock(&matrices->lock);
}

/* The matrix, whether it is read or not, first in the list. NULL: out of memory. */
static struct matrix *find_or_add(struct matrices *matrices, const struct matrix_at *at)
{
	struct matrix *matrix;

	pthread_mutex_lock(&matrices->lock);
	matrix = take(matrices, at);
	if (!matrix)
		matrix = new_matrix(at);
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

const struct matrix *matrices_get(struct matrices *matrices, const struct matrix_at *at, bool spans,
				  int *rc)
{
	struct matrix *matrix = find_or_add(matrices, at);

	*rc = matrix ? 0 : -ENOMEM;
	if (!matrix)
		return NULL;
	pthread_mutex_lock(&matrix->lock);
	if (!matrix->is_read)
		*rc = read_matrix(matrix, spans);
	pthread_mutex_unlock(&matrix->lock);
	if (*rc == 0)
		return matrix;
	matrix_put(matrix);
	return NULL;
}
