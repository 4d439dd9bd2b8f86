/* SPDX-License-Identifier: MIT */
/* once.c - see once.h. */
#include "fs/lazy/memo.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct onces {
	struct once_kind kind;
	struct pool *pool, *own; /* own: NULL, or the pool */
	pthread_mutex_t lock;	 /* protects what follows, and what is beside a struct once */
	pthread_cond_t done;
	bool stopped;
	uint64_t count;
	uint64_t asked; /* how often somebody has asked */
};

unsigned onces_threads(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 64 ? 64 : (unsigned)n;
}

struct onces *onces_new(const struct once_kind *kind, struct pool *pool)
{
	struct onces *onces = calloc(1, sizeof(*onces));

	if (!onces)
		return NULL;
	onces->kind = *kind;
	onces->own = pool ? NULL : pool_new(onces_threads());
	onces->pool = pool ? pool : onces->own;
	if (!onces->pool) {
		free(onces);
		return NULL;
	}
	pthread_mutex_init(&onces->lock, NULL);
	waiting_init(&onces->done);
	return onces;
}

void onces_stop(struct onces *onces)
{
	pthread_mutex_lock(&onces->lock);
	onces->stopped = true;
	pthread_cond_broadcast(&onces->done);
	pthread_mutex_unlock(&onces->lock);
}

void onces_free(struct onces *onces)
{
	if (!onces)
		return;
	pool_free(onces->own);
	pthread_cond_destroy(&onces->done);
	pthread_mutex_destroy(&onces->lock);
	free(onces);
}

struct once_job {
	struct onces *onces;
	struct once *once;
	struct subject subject; /* with a reference of its own */
};

static struct once *place_of(struct onces *onces, const struct subject *subject)
{
	return onces->kind.place(onces->kind.context, subject);
}

static void run_job(void *argument)
{
	struct once_job *job = argument;
	struct onces *onces = job->onces;
	struct once *once = job->once;
	int rc = -EINTR;

	/* The result is nobody else's before it is done. */
	if (!atomic_load(&once->unwanted))
		rc = onces->kind.find(onces->kind.context, &job->subject, once);
	pthread_mutex_lock(&onces->lock);
	once->state = rc == -EINTR ? ONCE_NONE : ONCE_DONE;
	if (rc != -EINTR) {
		once->error = rc;
		onces->count++;
	}
	pthread_cond_broadcast(&onces->done);
	pthread_mutex_unlock(&onces->lock);
	content_unref(job->subject.content);
	free(job);
}

/* With the lock held, in state ONCE_NONE. */
static int begin(struct onces *onces, const struct subject *subject, struct once *once)
{
	struct once_job *job = malloc(sizeof(*job));
	int rc;

	if (!job)
		return -ENOMEM;
	*job = (struct once_job){ onces, once, *subject };
	if (subject->content)
		content_ref(subject->content);
	once->state = ONCE_BEGUN;
	once->begun = onces->asked;
	rc = pool_submit(onces->pool, run_job, job);
	if (rc < 0) {
		once->state = ONCE_NONE;
		content_unref(job->subject.content);
		free(job);
	}
	return rc;
}

static bool has_failed(const struct once *once)
{
	return once->state == ONCE_DONE && once->error && once->error != -ENOTSUP;
}

/* With the lock held. A job may have given up just before we came, or fail for a reason that is
 * gone since, so it may have to be begun anew. */
static int await(struct onces *onces, const struct subject *subject, uint64_t asked,
		 const atomic_bool *stop)
{
	struct once *once = place_of(onces, subject);
	int rc = 0;

	for (;;) {
		if (onces->stopped || (stop && atomic_load(stop)))
			return -EINTR;
		if (has_failed(once) && once->begun < asked)
			once->state = ONCE_NONE;
		if (once->state == ONCE_DONE)
			return has_failed(once) ? once->error : 0;
		if (once->state == ONCE_NONE)
			rc = begin(onces, subject, once);
		if (rc < 0)
			return rc;
		waiting_moment(&onces->done, &onces->lock);
	}
}

int onces_prepare(struct onces *onces, const struct subject *subjects, size_t n,
		  const atomic_bool *stop)
{
	uint64_t asked;
	int rc = 0;

	pthread_mutex_lock(&onces->lock);
	asked = ++onces->asked;
	for (size_t i = 0; i < n; i++) {
		struct once *once = place_of(onces, &subjects[i]);

		once->waiting++;
		atomic_store(&once->unwanted, false);
		if (has_failed(once))
			once->state = ONCE_NONE;
		if (rc == 0 && once->state == ONCE_NONE && !onces->stopped)
			rc = begin(onces, &subjects[i], once);
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = await(onces, &subjects[i], asked, stop);
	for (size_t i = 0; i < n; i++) {
		struct once *once = place_of(onces, &subjects[i]);

		if (--once->waiting == 0)
			atomic_store(&once->unwanted, true);
	}
	pthread_mutex_unlock(&onces->lock);
	return rc;
}

int onces_get(struct onces *onces, const struct subject *subject, const atomic_bool *stop)
{
	int rc = onces_prepare(onces, subject, 1, stop);

	if (rc < 0)
		return rc;
	/* What is done well stays done. */
	pthread_mutex_lock(&onces->lock);
	rc = place_of(onces, subject)->error;
	pthread_mutex_unlock(&onces->lock);
	return rc;
}

bool onces_inherit(struct onces *onces, struct once *place, struct onces *others,
		   const struct once *known)
{
	bool done;

	pthread_mutex_lock(&others->lock);
	done = known->state == ONCE_DONE && !known->error;
	pthread_mutex_unlock(&others->lock);
	if (done) {
		place->state = ONCE_DONE;
		onces->count++;
	}
	return done;
}

uint64_t onces_count(struct onces *onces)
{
	uint64_t count;

	pthread_mutex_lock(&onces->lock);
	count = onces->count;
	pthread_mutex_unlock(&onces->lock);
	return count;
}
