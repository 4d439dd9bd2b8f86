/* SPDX-License-Identifier: MIT */
/* memo.c - see memo.h. */
#include "fs/lazy/memo.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct memo {
	struct memo_ops kind;
	struct pool *pool, *own; /* own: NULL, or the pool */
	pthread_mutex_t lock;	 /* protects what follows, and what is beside a struct memo_state */
	pthread_cond_t done;
	bool stopped;
	uint64_t count;
	uint64_t asked; /* how often somebody has asked */
};

unsigned memo_threads(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 64 ? 64 : (unsigned)n;
}

struct memo *memo_new(const struct memo_ops *kind, struct pool *pool)
{
	struct memo *memo = calloc(1, sizeof(*memo));

	if (!memo)
		return NULL;
	memo->kind = *kind;
	memo->own = pool ? NULL : pool_new(memo_threads());
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
	struct subject subject; /* with a reference of its own */
};

static struct memo_state *place_of(struct memo *memo, const struct subject *subject)
{
	return memo->kind.place(memo->kind.context, subject);
}

static void run_job(void *argument)
{
	struct memo_job *job = argument;
	struct memo *memo = job->memo;
	struct memo_state *once = job->once;
	int rc = -EINTR;

	/* The result is nobody else's before it is done. */
	if (!atomic_load(&once->unwanted))
		rc = memo->kind.find(memo->kind.context, &job->subject, once);
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

/* With the lock held, in state MEMO_NONE. */
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

/* With the lock held. A job may have given up just before we came, or fail for a reason that is
 * gone since, so it may have to be begun anew. */
static int await(struct memo *memo, const struct subject *subject, uint64_t asked,
		 const atomic_bool *stop)
{
	struct memo_state *once = place_of(memo, subject);
	int rc = 0;

	for (;;) {
		if (memo->stopped || (stop && atomic_load(stop)))
			return -EINTR;
		if (has_failed(once) && once->begun < asked)
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

int memo_prepare(struct memo *memo, const struct subject *subjects, size_t n,
		 const atomic_bool *stop)
{
	uint64_t asked;
	int rc = 0;

	pthread_mutex_lock(&memo->lock);
	asked = ++memo->asked;
	for (size_t i = 0; i < n; i++) {
		struct memo_state *once = place_of(memo, &subjects[i]);

		once->waiting++;
		atomic_store(&once->unwanted, false);
		if (has_failed(once))
			once->state = MEMO_NONE;
		if (rc == 0 && once->state == MEMO_NONE && !memo->stopped)
			rc = begin(memo, &subjects[i], once);
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = await(memo, &subjects[i], asked, stop);
	for (size_t i = 0; i < n; i++) {
		struct memo_state *once = place_of(memo, &subjects[i]);

		if (--once->waiting == 0)
			atomic_store(&once->unwanted, true);
	}
	pthread_mutex_unlock(&memo->lock);
	return rc;
}

int memo_get(struct memo *memo, const struct subject *subject, const atomic_bool *stop)
{
	int rc = memo_prepare(memo, subject, 1, stop);

	if (rc < 0)
		return rc;
	/* What is done well stays done. */
	pthread_mutex_lock(&memo->lock);
	rc = place_of(memo, subject)->error;
	pthread_mutex_unlock(&memo->lock);
	return rc;
}

bool memo_inherit(struct memo *memo, struct memo_state *place, struct memo *others,
		  const struct memo_state *known)
{
	bool done;

	pthread_mutex_lock(&others->lock);
	done = known->state == MEMO_DONE && !known->error;
	pthread_mutex_unlock(&others->lock);
	if (done) {
		place->state = MEMO_DONE;
		memo->count++;
	}
	return done;
}

uint64_t memo_count(struct memo *memo)
{
	uint64_t count;

	pthread_mutex_lock(&memo->lock);
	count = memo->count;
	pthread_mutex_unlock(&memo->lock);
	return count;
}
