/* SPDX-License-Identifier: MIT */
/* matrix_cache.h - an LRU cache of small matrices, decoded or computed, that many rows need, so
 * that concurrent reads share them. */
#ifndef FS_TENSOR_MATRIX_CACHE_H
#define FS_TENSOR_MATRIX_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct backing;

struct matrix_cache; /* reference-counted; any thread may use it */

/* Size of the LRU cache, in bytes of floats. Matrices in use and the newest matrix may exceed it,
 * as may computed matrices that were in use, until the next request. Computed matrices are evicted
 * last, unless they have more than half of the size. */
#define MATRIX_CACHE_BYTES ((size_t)32 << 20)

struct matrix_cache *matrix_cache_new(void); /* NULL: out of memory */
struct matrix_cache *matrix_cache_ref(struct matrix_cache *matrices);
void matrix_cache_unref(struct matrix_cache *matrices); /* NULL is fine */

/* Drop all matrices of that file and their references to the file. Does not wait for a disk. */
void matrix_cache_drop_file(struct matrix_cache *matrices, const struct backing *file);

/* Place of a matrix: rows of `length` values each, contiguous, of a type that dequant.h decodes. */
struct matrix_key {
	struct backing *file;
	uint64_t offset; /* bytes */
	uint32_t type;
	uint64_t rows, length;
	bool transposed; /* get the matrix transposed: length rows of rows values */
	/* NULL: the matrix is read from the file. Else the matrix is computed, and this pointer and
	 * the offset identify it among those of the file. */
	const void *computed;
};

struct matrix; /* immutable */

/* Get the matrix; any thread may return it by matrix_cache_put(). flags and stop as for
 * backing_read_cancellable(). NULL with *rc set to an error of that function. */
const struct matrix *matrix_cache_get(struct matrix_cache *matrices, const struct matrix_key *at,
				      unsigned flags, const atomic_bool *stop, int *rc);

/* Get a computed matrix. compute() writes its values, row by row, and returns 0 or -errno; other
 * threads that request the matrix wait for it. */
const struct matrix *matrix_cache_compute(struct matrix_cache *matrices,
					  const struct matrix_key *at,
					  int (*compute)(void *context, float *values),
					  void *context, const atomic_bool *stop, int *rc);
const float *matrix_values(const struct matrix *matrix);
void matrix_cache_put(const struct matrix *matrix);

#endif
