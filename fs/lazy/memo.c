/* SPDX-License-Identifier: MIT */
/* memo.c - see memo.h. */
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/cond_poll.h"
#include "fs/util/parallel.h"
#include "fs/util/pool.h"
#include "gguf/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct memo {
	const struct memo_ops *ops;
	struct model *model;
	uint64_t how;
	struct pool *pool, *own; /* own: the pool if the memo made it, else NULL */
	pthread_mutex_t lock;	 /* protects the fields below, and every struct memo_state */
	pthread_cond_t done;
	bool stopped;
	uint64_t count;
	uint64_t asked; /* calls of memo_prepare() */
	/* One structure of ops->size bytes for each tensor of the base. Zeros stand for a value
	 * that no thread has asked for, and calloc() touches no page before. */
	max_align_t base[];
};

static struct memo_state *state_of_base(struct memo *memo, uint32_t tensor)
{
	return (struct memo_state *)((char *)memo->base + memo->ops->size * tensor);
}

static struct memo_state *state_of(struct memo *memo, const struct subject *subject)
{
	return subject->content ? memo->ops->place(subject->content, memo->how)
				: state_of_base(memo, subject->tensor);
}

/* Call with the lock of from's memo held. */
static void copy_value(const struct memo *memo, void *to, const struct memo_state *from)
{
	memcpy(to, from + 1, memo->ops->size - sizeof(*from));
}

struct memo *memo_new(const struct memo_ops *ops, struct model *model, uint64_t how,
		      struct pool *pool)
{
	struct memo *memo = calloc(1, sizeof(*memo) + model->gguf->n_tensors * ops->size);

	if (!memo)
		return NULL;
	memo->ops = ops;
	memo->model = model;
	memo->how = how;
	memo->own = pool ? NULL : pool_new(parallel_threads());
	memo->pool = pool ? pool : memo->own;
	if (!memo->pool) {
		free(memo);
		return NULL;
	}
	pthread_mutex_init(&memo->lock, NULL);
	cond_poll_init(&memo->done);
	return memo;
}

void memo_stop(struct memo *memo)
{
	if (!memo)
		return;
	pthread_mutex_lock(&memo->lock);
	memo->stopped = true;
	pthread_cond_broadcast(&memo->done);
	pthread_mutex_unlock(&memo->lock);
}

void memo_free(struct memo *memo)
{
	if (!memo)
		return;
	pool_free(memo->own);
	pthread_cond_destroy(&memo->done);
	pthread_mutex_destroy(&memo->lock);
	free(memo);
}

struct memo_job {
	struct memo *memo;
	struct memo_state *once;
	struct subject subject; /* owns a reference */
};

static void run_job(void *argument)
{
	struct memo_job *job = argument;
	struct memo *memo = job->memo;
	struct memo_state *once = job->once;
	int rc = -EINTR;

	/* No other thread reads the value before its state is MEMO_DONE. */
	if (!atomic_load(&once->unwanted))
		rc = memo->ops->compute(memo->model, memo->how, &job->subject, once);
	pthread_mutex_lock(&memo->lock);
	once->state = rc == -EINTR ? MEMO_NONE : MEMO_DONE;
	if (rc != -EINTR) {
		once->error = rc;
		memo->count++;
	}
	pthread_cond_broadcast(&memo->done);
	pthread_mutex_unlock(&memo->lock);
	content_unref(job->subject.content);
	free(job);
}

static uint32_t version_of(const struct memo *memo)
{
	return memo->ops->version ? memo->ops->version(memo->model) : 0;
}

/* Start a job. Call with the lock held, in state MEMO_NONE. */
static int begin(struct memo *memo, const struct subject *subject, struct memo_state *once)
{
	struct memo_job *job = malloc(sizeof(*job));
	int rc;

	if (!job)
		return -ENOMEM;
	*job = (struct memo_job){ memo, once, *subject };
	if (subject->content)
		content_ref(subject->content);
	once->state = MEMO_PENDING;
	once->begun = memo->asked;
	once->version = version_of(memo);
	rc = pool_submit(memo->pool, run_job, job);
	if (rc < 0) {
		once->state = MEMO_NONE;
		content_unref(job->subject.content);
		free(job);
	}
	return rc;
}

static bool has_failed(const struct memo_state *once)
{
	return once->state == MEMO_DONE && once->error && once->error != -ENOTSUP;
}

/* Whether the value depends on an earlier version. Call with the lock held. */
static bool is_old(const struct memo *memo, const struct memo_state *once)
{
	return once->state == MEMO_DONE && once->version != version_of(memo);
}

/* Wait for the value. Call with the lock held. The job is started again if it gave up just before,
 * or failed before this thread asked. */
static int await(struct memo *memo, const struct subject *subject, uint64_t asked,
		 const atomic_bool *stop)
{
	struct memo_state *once = state_of(memo, subject);
	int rc = 0;

	for (;;) {
		if (memo->stopped || (stop && atomic_load(stop)))
			return -EINTR;
		if ((has_failed(once) || is_old(memo, once)) && once->begun < asked)
			once->state = MEMO_NONE;
		if (once->state == MEMO_DONE)
			return has_failed(once) ? once->error : 0;
		if (once->state == MEMO_NONE)
			rc = begin(memo, subject, once);
		if (rc < 0)
			return rc;
		cond_poll_wait(&memo->done, &memo->lock);
	}
}

/* Call with the lock held. */
static int prepare(struct memo *memo, const struct subject *subjects, size_t n,
		   const atomic_bool *stop)
{
	const uint64_t asked = ++memo->asked;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		struct memo_state *once = state_of(memo, &subjects[i]);

		once->waiting++;
		atomic_store(&once->unwanted, false);
		if (has_failed(once) || is_old(memo, once))
			once->state = MEMO_NONE;
		if (rc == 0 && once->state == MEMO_NONE && !memo->stopped)
			rc = begin(memo, &subjects[i], once);
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = await(memo, &subjects[i], asked, stop);
	for (size_t i = 0; i < n; i++) {
		struct memo_state *once = state_of(memo, &subjects[i]);

		if (--once->waiting == 0)
			atomic_store(&once->unwanted, true);
	}
	return rc;
}

int memo_prepare(struct memo *memo, const struct subject *subjects, size_t n,
		 const atomic_bool *stop)
{
	int rc;

	pthread_mutex_lock(&memo->lock);
	rc = prepare(memo, subjects, n, stop);
	pthread_mutex_unlock(&memo->lock);
	return rc;
}

int memo_get(struct memo *memo, const struct subject *subject, const atomic_bool *stop, void *value)
{
	int rc;

	pthread_mutex_lock(&memo->lock);
	rc = prepare(memo, subject, 1, stop);
	if (rc == 0)
		rc = state_of(memo, subject)->error;
	if (rc == 0)
		copy_value(memo, value, state_of(memo, subject));
	pthread_mutex_unlock(&memo->lock);
	return rc;
}

void memo_inherit(struct memo *memo, struct memo *old)
{
	pthread_mutex_lock(&old->lock);
	for (uint32_t i = 0; i < memo->model->gguf->n_tensors; i++) {
		struct memo_state *to = state_of_base(memo, i);
		const struct memo_state *from;
		uint32_t was;

		if (!model_shares_tensor(memo->model, i, old->model, &was))
			continue;
		from = state_of_base(old, was);
		if (from->state != MEMO_DONE || from->error)
			continue;
		copy_value(memo, to + 1, from);
		to->state = MEMO_DONE;
		memo->count++;
	}
	pthread_mutex_unlock(&old->lock);
}

uint64_t memo_count(struct memo *memo)
{
	uint64_t count;

	pthread_mutex_lock(&memo->lock);
	count = memo->count;
	pthread_mutex_unlock(&memo->lock);
	return count;
}
