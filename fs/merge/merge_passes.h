/* SPDX-License-Identifier: MIT */
/* merge_passes.h - facts about whole tensors that the merge needs before it can make single rows:
 * whether all tensors have the same bytes, and the figures for which the method passes over all
 * rows. The first thread that asks computes them once, and other threads wait for it.
 *
 * A thread that is interrupted, or whose read fails, stops between two chunks of rows. The state
 * so far stays in memory, and the next thread continues from there. */
#ifndef FS_MERGE_MERGE_PASSES_H
#define FS_MERGE_MERGE_PASSES_H

#include "measure/merge.h"

#include <pthread.h>
#include <stdatomic.h>

struct merge_data;

struct merge_passes {
	/* Results, constant once found. */
	bool same;	    /* the result has the bytes that all tensors have */
	struct merge merge; /* valid unless same */
	/* Private. */
	const struct merge_tensor *tensor;
	atomic_bool found;
	pthread_mutex_t lock; /* protects busy; the thread that set busy owns the members below */
	pthread_cond_t idle;  /* busy became false */
	bool busy;
	bool compared, begun;
	uint64_t next; /* byte to compare, or row of the pass */
	void *scratch;
};

/* The tensor is borrowed and outlives it. */
void merge_passes_init(struct merge_passes *passes, const struct merge_tensor *tensor);
void merge_passes_release(struct merge_passes *passes);

/* Compute the results unless they are known. Any thread may call this. Returns 0; -EINTR soon after
 * *stop became true (stop may be NULL); or an error of backing_read(). */
int merge_passes_find(struct merge_passes *passes, const atomic_bool *stop);

/* The base, else input 0, with whose bytes those of the other tensors are compared. */
const struct merge_data *merge_passes_first(const struct merge_tensor *tensor);

#endif
