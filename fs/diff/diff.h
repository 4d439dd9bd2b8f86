/* SPDX-License-Identifier: MIT */
/* diff.h - two models, "here" and "there", compared tensor by tensor. The pairs are known at once;
 * the difference of a pair is measured on request, once, and kept.
 *
 * 1. The pairs are in the order of the tensors here, followed by those that are only there.
 * 2. One thread measures a pair; other readers wait for that thread, and can be interrupted.
 * 3. After a failure the next request measures the pair again. */
#ifndef FS_DIFF_DIFF_H
#define FS_DIFF_DIFF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensor_difference;

struct diff_pair {
	const struct diff_tensor *here, *there; /* NULL: no tensor of that name */
	bool same;				/* equal, as known without reading */
};

struct diff_measures; /* measured differences of the pairs */

/* Counted; any thread may use it. Only measures changes. */
struct diff {
	struct diff_side *here, *there;
	size_t n;
	struct diff_pair *pairs;
	struct diff_measures *measures;
};

struct diff_params {
	uint64_t samples;	   /* as in sampling.h */
	struct pool *pool;	   /* helping threads; NULL: the caller does all */
	const atomic_bool *ending; /* waiting threads get -EINTR once it is true; may be NULL */
};

/* Compare two sides, which become the diff's, also on failure; either may be NULL. The pointers of
 * params are borrowed and outlive the diff. NULL: out of memory, or a side is NULL. */
struct diff *diff_new(struct diff_side *here, struct diff_side *there,
		      const struct diff_params *params);
struct diff *diff_ref(struct diff *diff);
void diff_unref(struct diff *diff); /* NULL is fine */

/* Parameters of the diff. */
const struct diff_params *diff_params(const struct diff *diff);

/* Take over the measures of old for pairs whose bytes lie in the same places. Call before another
 * thread knows diff. */
void diff_inherit(struct diff *diff, struct diff *old);

/* The pair's tensor here, else the one there. */
static inline const struct diff_tensor *diff_pair_any(const struct diff_pair *pair)
{
	return pair->here ? pair->here : pair->there;
}

/* Whether the pair has both tensors, in the same shape. */
bool diff_pair_is_comparable(const struct diff_pair *pair);

/* Measure n pairs from first on, several at a time. Returns 0, -EINTR if *stop became true, where
 * stop may be NULL, or as tensor_difference(). */
int diff_measure(struct diff *diff, size_t first, size_t n, const atomic_bool *stop);

/* The measured difference of pair i, which lives as long as the diff. NULL: not measured yet. */
const struct tensor_difference *diff_result(struct diff *diff, size_t i);

#endif
