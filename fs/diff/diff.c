/* SPDX-License-Identifier: MIT */
/* diff.c - see diff.h. */
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/cond_poll.h"
#include "fs/util/halt.h"
#include "fs/util/parallel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct diff_measure {
	enum { PAIR_UNKNOWN, PAIR_PENDING, PAIR_MEASURED } state;
	struct tensor_difference result; /* immutable once measured */
};

struct diff_measures {
	atomic_uint refs;
	struct diff_params params;
	pthread_mutex_t lock; /* protects the states of all pairs */
	pthread_cond_t changed;
	struct diff_measure pairs[];
};

bool diff_pair_is_comparable(const struct diff_pair *pair)
{
	return pair->here && pair->there &&
	       memcmp(pair->here->at.organ.ne, pair->there->at.organ.ne,
		      sizeof(pair->here->at.organ.ne)) == 0;
}

static void add_pair(struct diff *diff, const struct diff_tensor *here,
		     const struct diff_tensor *there)
{
	const bool same = here && there && tensor_difference_is_none(&here->at, &there->at);

	diff->pairs[diff->n++] = (struct diff_pair){ here, there, same };
}

static void pair_up(struct diff *diff)
{
	const struct diff_side *here = diff->here, *there = diff->there;

	for (uint32_t i = 0; i < here->n; i++) {
		const struct organ *organ = &here->tensors[i].at.organ;

		add_pair(diff, &here->tensors[i],
			 diff_side_tensor(there, organ->name, organ->name_length));
	}
	for (uint32_t i = 0; i < there->n; i++) {
		const struct organ *organ = &there->tensors[i].at.organ;

		if (!diff_side_tensor(here, organ->name, organ->name_length))
			add_pair(diff, NULL, &there->tensors[i]);
	}
}

static struct diff_measures *new_measures(size_t n, const struct diff_params *params)
{
	struct diff_measures *measures =
		calloc(1, sizeof(*measures) + n * sizeof(measures->pairs[0]));

	if (!measures)
		return NULL;
	atomic_init(&measures->refs, 1);
	measures->params = *params;
	pthread_mutex_init(&measures->lock, NULL);
	cond_poll_init(&measures->changed);
	return measures;
}

static void free_diff(struct diff *diff)
{
	if (diff->measures) {
		pthread_cond_destroy(&diff->measures->changed);
		pthread_mutex_destroy(&diff->measures->lock);
	}
	free(diff->measures);
	free(diff->pairs);
	diff_side_free(diff->here);
	diff_side_free(diff->there);
	free(diff);
}

struct diff *diff_new(struct diff_side *here, struct diff_side *there,
		      const struct diff_params *params)
{
	struct diff *diff = here && there ? calloc(1, sizeof(*diff)) : NULL;
	size_t n;

	if (!diff) {
		diff_side_free(here);
		diff_side_free(there);
		return NULL;
	}
	diff->here = here;
	diff->there = there;
	n = (size_t)here->n + there->n;
	diff->pairs = calloc(n + 1, sizeof(*diff->pairs));
	diff->measures = new_measures(n, params);
	if (!diff->pairs || !diff->measures) {
		free_diff(diff);
		return NULL;
	}
	pair_up(diff);
	return diff;
}

struct diff *diff_ref(struct diff *diff)
{
	atomic_fetch_add(&diff->measures->refs, 1);
	return diff;
}

void diff_unref(struct diff *diff)
{
	if (diff && atomic_fetch_sub(&diff->measures->refs, 1) == 1)
		free_diff(diff);
}

const struct diff_params *diff_params(const struct diff *diff)
{
	return &diff->measures->params;
}

static bool is_same_place(const struct diff_tensor *a, const struct diff_tensor *b)
{
	if (!a || !b)
		return a == b;
	return a->at.file && a->at.file == b->at.file && a->at.offset == b->at.offset &&
	       a->at.organ.type == b->at.organ.type &&
	       memcmp(a->at.organ.ne, b->at.organ.ne, sizeof(a->at.organ.ne)) == 0;
}

void diff_inherit(struct diff *diff, struct diff *old)
{
	for (size_t i = 0; i < diff->n; i++) {
		const struct diff_pair *pair = &diff->pairs[i];
		const struct organ *organ = &diff_pair_any(pair)->at.organ;
		const struct diff_tensor *here =
			diff_side_tensor(old->here, organ->name, organ->name_length);
		const struct diff_tensor *there =
			diff_side_tensor(old->there, organ->name, organ->name_length);
		const struct tensor_difference *known = NULL;

		/* The number of a tensor here is also that of its pair. */
		if (here && is_same_place(pair->here, here) && is_same_place(pair->there, there))
			known = diff_result(old, (size_t)(here - old->here->tensors));
		if (known) {
			diff->measures->pairs[i].result = *known;
			diff->measures->pairs[i].state = PAIR_MEASURED;
		}
	}
}

/* Measure a pair. Call with the lock held, which is released meanwhile. */
static int measure_pair(struct diff *diff, size_t i, const struct halt *halt)
{
	struct diff_measures *measures = diff->measures;
	struct diff_measure *measure = &measures->pairs[i];
	const struct diff_pair *pair = &diff->pairs[i];
	int rc;

	measure->state = PAIR_PENDING;
	pthread_mutex_unlock(&measures->lock);
	rc = tensor_difference(pair->here ? &pair->here->at : NULL,
			       pair->there ? &pair->there->at : NULL, measures->params.samples,
			       halt, &measure->result);
	pthread_mutex_lock(&measures->lock);
	measure->state = rc == 0 ? PAIR_MEASURED : PAIR_UNKNOWN;
	pthread_cond_broadcast(&measures->changed);
	return rc;
}

/* Wait for the thread that measures the pair, or measure it. Call with the lock held. */
static int finish_pair(struct diff *diff, size_t i, const struct halt *halt)
{
	struct diff_measures *measures = diff->measures;
	int rc = 0;

	while (rc == 0 && measures->pairs[i].state != PAIR_MEASURED) {
		if (halted(halt))
			return -EINTR;
		if (measures->pairs[i].state == PAIR_UNKNOWN)
			rc = measure_pair(diff, i, halt);
		else
			cond_poll_wait(&measures->changed, &measures->lock);
	}
	return rc;
}

/* Pairs that several threads measure for one caller. */
struct diff_batch {
	struct diff *diff;
	size_t first;
	struct halt halt;
};

static int measure_next(void *context, size_t i)
{
	const struct diff_batch *batch = context;
	struct diff_measures *measures = batch->diff->measures;
	int rc;

	pthread_mutex_lock(&measures->lock);
	rc = finish_pair(batch->diff, batch->first + i, &batch->halt);
	pthread_mutex_unlock(&measures->lock);
	return rc;
}

int diff_measure(struct diff *diff, size_t first, size_t n, const atomic_bool *stop)
{
	const struct diff_params *params = &diff->measures->params;
	struct diff_batch batch = { diff, first, { stop, params->ending } };

	return parallel_run(params->pool, parallel_threads() - 1, n, measure_next, &batch);
}

const struct tensor_difference *diff_result(struct diff *diff, size_t i)
{
	struct diff_measures *measures = diff->measures;
	bool measured;

	pthread_mutex_lock(&measures->lock);
	measured = measures->pairs[i].state == PAIR_MEASURED;
	pthread_mutex_unlock(&measures->lock);
	return measured ? &measures->pairs[i].result : NULL;
}
