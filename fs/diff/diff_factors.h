/* SPDX-License-Identifier: MIT */
/* diff_factors.h - the low-rank factors of the pairs of a diff, found when they are asked for.
 *
 * 1. One thread finds those of a matrix; others that ask for it wait for that thread, and can be
 *    interrupted.
 * 2. What was asked for last is kept, and before that as many bytes as there is room for, beside
 *    what readers have. What is asked for again after that is found again, and has the same
 *    bytes. */
#ifndef FS_DIFF_DIFF_FACTORS_H
#define FS_DIFF_DIFF_FACTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;

/* The room for each other model: factors of rank 8 of about a hundred matrices of 8192 x 8192. */
#define DIFF_FACTORS_ROOM ((size_t)64 << 20)

/* One matrix of a pair for which diff_low_rank() is OK, or would be if it was not the same. */
struct diff_matrix {
	size_t pair;
	uint32_t slice;
	uint32_t rank; /* diff_low_rank_rank() */
};

struct diff_factor {
	float *halves[2];   /* lora_a and lora_b, of this slice, as they lie in an adapter */
	size_t sizes[2];    /* bytes */
	double *squares;    /* of the singular values: rank of them, the largest first */
	double energy;	    /* the sum of the squares of all differences that are finite */
	uint64_t nonfinite; /* that are none: then all other figures are zeros */
};

struct diff_factors; /* counted; any thread may use it */

/* It takes a reference of diff, and keeps so many bytes. NULL: out of memory. */
struct diff_factors *diff_factors_new(struct diff *diff, size_t room);
struct diff_factors *diff_factors_ref(struct diff_factors *factors);
void diff_factors_unref(struct diff_factors *factors);	      /* NULL is fine */
struct diff *diff_factors_diff(struct diff_factors *factors); /* borrowed */
size_t diff_factors_room(const struct diff_factors *factors);

/* The factors, to put. NULL with *rc set: -EINTR where *stop, which may be NULL, became true, or as
 * tensor_factors(). */
const struct diff_factor *diff_factors_get(struct diff_factors *factors,
					   const struct diff_matrix *matrix,
					   const atomic_bool *stop, int *rc);
void diff_factors_put(struct diff_factors *factors, const struct diff_factor *factor);

/* Are they found, and kept by now? */
bool diff_factors_has(struct diff_factors *factors, const struct diff_matrix *matrix);

/* Find those of n matrices, several at a time, which are kept as long as there is room. Returns 0
 * or as above. */
int diff_factors_prepare(struct diff_factors *factors, const struct diff_matrix *matrices, size_t n,
			 const atomic_bool *stop);

#endif
