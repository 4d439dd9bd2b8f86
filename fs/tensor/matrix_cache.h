/* SPDX-License-Identifier: MIT */
/* matrix_cache.h - small matrices that many rows are made with, decoded to floats or computed. The
 * last ones that were used are kept, within a limit, so that reads beside each other have them made
 * once. */
#ifndef FS_TENSOR_MATRIX_CACHE_H
#define FS_TENSOR_MATRIX_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct backing;

struct matrix_cache; /* counted; any thread may use it */

/* The room of the LRU cache, in bytes of floats. Matrices in use and the newest one are kept beyond
 * it, and until another matrix is got, computed ones that were in use. Computed matrices are
 * evicted last, unless they have more than half of the room. */
#define MATRIX_CACHE_BYTES ((size_t)32 << 20)

struct matrix_cache *matrix_cache_new(void); /* NULL: out of memory */
struct matrix_cache *matrix_cache_ref(struct matrix_cache *matrices);
void matrix_cache_unref(struct matrix_cache *matrices); /* NULL is fine */

/* Of that file none is kept any more, and so the file is not. Waits for no disk. */
void matrix_cache_drop_file(struct matrix_cache *matrices, const struct backing *file);

/* Where one lies: rows of length values each, one behind the other, of a type whose values are
 * known (dequant.h). */
struct matrix_key {
	struct backing *file;
	uint64_t offset; /* bytes */
	uint32_t type;
	uint64_t rows, length;
	bool transposed; /* is wanted with rows and columns exchanged: length rows of rows values */
	/* NULL: the matrix lies there. Else it is computed, and this and the offset tell it from
	 * others of that file. */
	const void *computed;
};

struct matrix; /* immutable */

/* The matrix, to give back with matrix_cache_put(), which may be done by any thread. NULL with *rc
 * set: as backing_read_cancellable(), of which flags and stop are. */
const struct matrix *matrix_cache_get(struct matrix_cache *matrices, const struct matrix_key *at,
				      unsigned flags, const atomic_bool *stop, int *rc);

/* The same for a computed matrix. compute() makes its values, one row behind the other, and returns
 * 0 or -errno; other threads that want the matrix wait for it. */
const struct matrix *matrix_cache_compute(struct matrix_cache *matrices,
					  const struct matrix_key *at,
					  int (*compute)(void *context, float *values),
					  void *context, const atomic_bool *stop, int *rc);
const float *matrix_values(const struct matrix *matrix);
void matrix_cache_put(const struct matrix *matrix);

#endif
