/* SPDX-License-Identifier: MIT */
/* diff.h - two models beside each other, tensor by tensor. Which tensors stand beside each other is
 * known at once; how far two are apart is measured when it is asked for, once, and kept.
 *
 * 1. The pairs are in the order of the tensors here, and after them those that are only there.
 * 2. One thread measures a pair; others that ask for it wait for that thread, and can be
 *    interrupted.
 * 3. What could not be measured is tried again when it is asked for again. */
#ifndef FS_DIFF_DIFF_H
#define FS_DIFF_DIFF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensor_difference;

struct diff_pair {
	const struct diff_tensor *here, *there; /* NULL: there is none of that name */
	bool same;				/* known without reading */
};

struct diff_measures; /* of the pairs */

/* Counted; but for measures it does not change, and any thread may use it. */
struct diff {
	struct diff_side *here, *there;
	size_t n;
	struct diff_pair *pairs;
	struct diff_measures *measures;
};

struct diff_params {
	uint64_t samples;	   /* as in sampling.h */
	struct pool *pool;	   /* threads that help; NULL: those that ask do all */
	const atomic_bool *ending; /* when it becomes true, who waits gets -EINTR; may be NULL */
};

/* Both sides become the diff's, also on failure; NULL counts as such. What params point to is
 * borrowed and outlives it. NULL: out of memory. */
struct diff *diff_new(struct diff_side *here, struct diff_side *there,
		      const struct diff_params *params);
struct diff *diff_ref(struct diff *diff);
void diff_unref(struct diff *diff); /* NULL is fine */

/* With which it was made. */
const struct diff_params *diff_params(const struct diff *diff);

/* What old knows of pairs whose bytes lie in the same places is known from now on. Before another
 * thread knows diff. */
void diff_inherit(struct diff *diff, struct diff *old);

/* The one of a pair that is there, the one here if both are. */
static inline const struct diff_tensor *diff_pair_any(const struct diff_pair *pair)
{
	return pair->here ? pair->here : pair->there;
}

/* Have both of them the same shape? */
bool diff_pair_is_comparable(const struct diff_pair *pair);

/* Measure n pairs from first on, several at a time. Returns 0, or -EINTR where *stop, which may be
 * NULL, became true, or as tensor_difference(). */
int diff_measure(struct diff *diff, size_t first, size_t n, const atomic_bool *stop);

/* What was measured of pair i, which stays as long as the diff. NULL: it was not. */
const struct tensor_difference *diff_result(struct diff *diff, size_t i);

#endif
