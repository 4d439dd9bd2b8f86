/* SPDX-License-Identifier: MIT */
/* matrix_cache.c - see matrix_cache.h. A list, in which the most recently used matrix is first. */
#include "fs/tensor/matrix_cache.h"
#include "fs/storage/backing.h"
#include "fs/tensor/codec.h"
#include "fs/util/cond_poll.h"
#include "gguf/types.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Immutable once is_read is set, which happens before a caller gets it. */
struct matrix {
	atomic_uint refs; /* one of the list, and one for each user */
	struct matrix_key at;
	size_t bytes;
	struct matrix *next;
	pthread_mutex_t lock; /* protects the members below, except values while busy */
	pthread_cond_t idle;  /* signalled when busy becomes false */
	bool busy;	      /* a thread reads or computes the matrix; others wait */
	bool is_read;	      /* false: the next thread that requests it tries again */
	float values[];
};

struct matrix_cache {
	atomic_uint refs;
	pthread_mutex_t lock; /* protects the members below */
	struct matrix *first;
	size_t bytes;
};

struct matrix_cache *matrix_cache_new(void)
{
	struct matrix_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	atomic_init(&cache->refs, 1);
	pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

struct matrix_cache *matrix_cache_ref(struct matrix_cache *cache)
{
	atomic_fetch_add(&cache->refs, 1);
	return cache;
}

void matrix_cache_put(const struct matrix *matrix)
{
	struct matrix *mine = (struct matrix *)matrix;

	if (!mine || atomic_fetch_sub(&mine->refs, 1) != 1)
		return;
	backing_unref(mine->at.file);
	pthread_mutex_destroy(&mine->lock);
	pthread_cond_destroy(&mine->idle);
	free(mine);
}

/* Remove the matrix at that link from the list and return it with the list's reference. With the
 * lock held, or single-threaded. */
static struct matrix *unlinked(struct matrix_cache *cache, struct matrix **link)
{
	struct matrix *matrix = *link;

	*link = matrix->next;
	cache->bytes -= matrix->bytes;
	return matrix;
}

void matrix_cache_unref(struct matrix_cache *cache)
{
	if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
		return;
	while (cache->first)
		matrix_cache_put(unlinked(cache, &cache->first));
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

const float *matrix_values(const struct matrix *matrix)
{
	return matrix->values;
}

static bool is_same(const struct matrix_key *a, const struct matrix_key *b)
{
	return a->file == b->file && a->offset == b->offset && a->rows == b->rows &&
	       a->length == b->length && a->type == b->type && a->transposed == b->transposed &&
	       a->computed == b->computed;
}

struct matrix_reading {
	const struct matrix_key *at;
	unsigned flags;
	const atomic_bool *stop;
};

/* Decode into values; row by row if the matrix is transposed. */
static int decode(const struct matrix_reading *reading, uint8_t *scratch, float *row, float *values)
{
	const struct matrix_key *at = reading->at;
	const uint64_t blocks = at->length / type_find(at->type)->block_elements;

	if (!at->transposed)
		return decode_read(at->file, at->offset, at->type, reading->flags, 0,
				   at->rows * blocks, scratch, values, reading->stop);
	for (uint64_t i = 0; i < at->rows; i++) {
		const int rc = decode_read(at->file, at->offset, at->type, reading->flags,
					   i * blocks, blocks, scratch, row, reading->stop);

		if (rc < 0)
			return rc;
		for (uint64_t r = 0; r < at->length; r++)
			values[r * at->rows + i] = row[r];
	}
	return 0;
}

/* A matrix without values. NULL: out of memory. */
static struct matrix *new_matrix(const struct matrix_key *at)
{
	const size_t bytes = (size_t)(at->rows * at->length) * sizeof(float);
	struct matrix *matrix = malloc(sizeof(*matrix) + bytes);

	if (!matrix)
		return NULL;
	atomic_init(&matrix->refs, 1);
	pthread_mutex_init(&matrix->lock, NULL);
	cond_poll_init(&matrix->idle);
	matrix->busy = matrix->is_read = false;
	matrix->at = *at;
	matrix->bytes = bytes;
	backing_ref(at->file);
	return matrix;
}

static int read_values(void *context, float *values)
{
	const struct matrix_reading *reading = context;
	uint8_t *scratch = malloc(DECODE_SCRATCH);
	float *row = malloc((size_t)reading->at->length * sizeof(*row));
	const int rc = scratch && row ? decode(reading, scratch, row, values) : -ENOMEM;

	free(scratch);
	free(row);
	return rc;
}

/* The link of the matrix to evict next, never the first one; called with the lock held. Decoded
 * matrices are evicted before computed ones, which are more expensive, unless the computed ones
 * have more than half of the size. A computed matrix in use stays, because the thread that uses it
 * will request it again. NULL: none. */
static struct matrix **next_to_go(struct matrix_cache *cache)
{
	struct matrix **decoded = NULL, **computed = NULL;
	size_t bytes = 0; /* of computed matrices */

	for (struct matrix **link = &cache->first->next; *link; link = &(*link)->next) {
		if (!(*link)->at.computed) {
			decoded = link;
			continue;
		}
		bytes += (*link)->bytes;
		if (atomic_load(&(*link)->refs) == 1)
			computed = link;
	}
	return decoded && (!computed || bytes <= MATRIX_CACHE_BYTES / 2) ? decoded : computed;
}

/* Take the matrix out of the list, with the lock held. NULL: not in the list. */
static struct matrix *take(struct matrix_cache *cache, const struct matrix_key *at)
{
	struct matrix **link = &cache->first;

	while (*link && !is_same(&(*link)->at, at))
		link = &(*link)->next;
	return *link ? unlinked(cache, link) : NULL;
}

void matrix_cache_drop_file(struct matrix_cache *cache, const struct backing *file)
{
	struct matrix **link = &cache->first;

	pthread_mutex_lock(&cache->lock);
	while (*link) {
		if ((*link)->at.file == file)
			matrix_cache_put(unlinked(cache, link));
		else
			link = &(*link)->next;
	}
	pthread_mutex_unlock(&cache->lock);
}

/* Find or add the matrix, perhaps without values, as first of the list. NULL: out of memory. */
static struct matrix *find_or_add(struct matrix_cache *cache, const struct matrix_key *at)
{
	struct matrix *matrix, **next;

	pthread_mutex_lock(&cache->lock);
	matrix = take(cache, at);
	if (!matrix)
		matrix = new_matrix(at);
	if (matrix) {
		matrix->next = cache->first;
		cache->first = matrix;
		cache->bytes += matrix->bytes;
		while (cache->bytes > MATRIX_CACHE_BYTES && (next = next_to_go(cache)))
			matrix_cache_put(unlinked(cache, next));
		atomic_fetch_add(&matrix->refs, 1);
	}
	pthread_mutex_unlock(&cache->lock);
	return matrix;
}

static bool is_stopped(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

/* Called with the lock held, which is released during compute(). */
static int compute_values(struct matrix *matrix, int (*compute)(void *context, float *values),
			  void *context)
{
	int rc;

	matrix->busy = true;
	pthread_mutex_unlock(&matrix->lock);
	rc = compute(context, matrix->values);
	pthread_mutex_lock(&matrix->lock);
	matrix->busy = false;
	matrix->is_read = rc == 0;
	pthread_cond_broadcast(&matrix->idle);
	return rc;
}

const struct matrix *matrix_cache_compute(struct matrix_cache *cache, const struct matrix_key *at,
					  int (*compute)(void *context, float *values),
					  void *context, const atomic_bool *stop, int *rc)
{
	struct matrix *matrix = find_or_add(cache, at);

	*rc = matrix ? 0 : -ENOMEM;
	if (!matrix)
		return NULL;
	pthread_mutex_lock(&matrix->lock);
	while (matrix->busy && !is_stopped(stop))
		cond_poll_wait(&matrix->idle, &matrix->lock);
	if (matrix->busy)
		*rc = -EINTR;
	else if (!matrix->is_read)
		*rc = compute_values(matrix, compute, context);
	pthread_mutex_unlock(&matrix->lock);
	if (*rc == 0)
		return matrix;
	matrix_cache_put(matrix);
	return NULL;
}

const struct matrix *matrix_cache_get(struct matrix_cache *cache, const struct matrix_key *at,
				      unsigned flags, const atomic_bool *stop, int *rc)
{
	struct matrix_reading reading = { at, flags, stop };

	return matrix_cache_compute(cache, at, read_values, &reading, stop, rc);
}
