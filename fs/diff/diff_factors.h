/* SPDX-License-Identifier: MIT */
/* diff_factors.h - the low-rank factors of the pairs of a diff, computed on request.
 *
 * 1. One thread computes the factors of a matrix; others that want them wait for that thread, and
 *    can be interrupted.
 * 2. An LRU cache bounded in bytes keeps them; the newest entry and those in use are never evicted.
 *    An evicted result is computed again, with the same bytes. */
#ifndef FS_DIFF_DIFF_FACTORS_H
#define FS_DIFF_DIFF_FACTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;

/* Size of each other model's cache: factors of rank 8 of about a hundred 8192 x 8192 matrices. */
#define DIFF_FACTORS_ROOM ((size_t)64 << 20)

/* One matrix of a pair with DIFF_LOW_RANK_OK, or of an equal pair that would have it. */
struct diff_matrix {
	size_t pair;
	uint32_t slice;
	uint32_t rank; /* diff_low_rank_rank() */
};

struct diff_factor {
	float *halves[2];   /* lora_a and lora_b of this slice, in the adapter's layout */
	size_t sizes[2];    /* bytes */
	double *squares;    /* squared singular values: rank of them, the largest first */
	double energy;	    /* sum of the squares of all finite differences */
	uint64_t nonfinite; /* number of other differences; if any, all figures are zeros */
};

struct diff_factors; /* counted; any thread may use it */

/* An empty cache of room bytes, with a reference to diff. NULL: out of memory. */
struct diff_factors *diff_factors_new(struct diff *diff, size_t room);
struct diff_factors *diff_factors_ref(struct diff_factors *factors);
void diff_factors_unref(struct diff_factors *factors);	      /* NULL is fine */
struct diff *diff_factors_diff(struct diff_factors *factors); /* borrowed */
size_t diff_factors_room(const struct diff_factors *factors);

/* Get the factors, to be put back. NULL with *rc set: -EINTR if *stop became true, where stop may
 * be NULL, or as tensor_factors(). */
const struct diff_factor *diff_factors_get(struct diff_factors *factors,
					   const struct diff_matrix *matrix,
					   const atomic_bool *stop, int *rc);
void diff_factors_put(struct diff_factors *factors, const struct diff_factor *factor);

/* Whether the factors are in the cache. */
bool diff_factors_has(struct diff_factors *factors, const struct diff_matrix *matrix);

/* Compute and cache the factors of n matrices, several at a time. Returns as diff_factors_get(). */
int diff_factors_prepare(struct diff_factors *factors, const struct diff_matrix *matrices, size_t n,
			 const atomic_bool *stop);

#endif
