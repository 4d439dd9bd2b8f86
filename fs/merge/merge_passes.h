/* SPDX-License-Identifier: MIT */
/* merge_passes.h - what is to be known of whole tensors before rows of their merge can be made:
 * whether all have the same bytes, and what the method needs passes for. It is found once, by the
 * first thread that asks, which others wait for.
 *
 * A thread that is interrupted, or cannot read, gives up between two chunks of rows; the next one
 * goes on from there. What was found by then stays in memory. */
#ifndef FS_MERGE_MERGE_PASSES_H
#define FS_MERGE_MERGE_PASSES_H

#include "measure/merge.h"

#include <pthread.h>
#include <stdatomic.h>

struct merge_data;

struct merge_passes {
	/* What is found, which does not change after that. */
	bool same;	    /* all have the same bytes, which are the result's */
	struct merge merge; /* unless same */
	/* Private. */
	const struct merge_tensor *tensor;
	atomic_bool found;
	pthread_mutex_t lock; /* protects busy; the thread that made it true owns what follows */
	pthread_cond_t idle;  /* busy became false */
	bool busy;
	bool compared, begun;
	uint64_t next; /* byte to compare, or row of the pass */
	void *scratch;
};

/* The tensor is borrowed and outlives it. */
void merge_passes_init(struct merge_passes *passes, const struct merge_tensor *tensor);
void merge_passes_release(struct merge_passes *passes);

/* Find it, unless it is found. Any thread may call it. Returns 0; -EINTR soon after *stop, which
 * may be NULL, became true; or as backing_read(). */
int merge_passes_find(struct merge_passes *passes, const atomic_bool *stop);

/* The tensor whose bytes these are, if all are the same. */
const struct merge_data *merge_passes_of(const struct merge_tensor *tensor);

#endif
