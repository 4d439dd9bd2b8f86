/* SPDX-License-Identifier: MIT */
/* parallel.c - see parallel.h. A helper job that the pool starts late finds no work left. The
 * calling thread waits only for helpers that are running, never for queued ones, so that a pool's
 * thread may call parallel_run() without deadlock. */
#include "fs/util/parallel.h"
#include "fs/util/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

unsigned parallel_threads(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 64 ? 64 : (unsigned)n;
}

struct parallel {
	atomic_uint refs;
	int (*run)(void *context, size_t i);
	void *context; /* invalid when the calling thread has returned */
	size_t n;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t idle;  /* signalled when no helper runs */
	size_t next;
	unsigned running; /* helpers within work() */
	int rc;
};

static void unref(struct parallel *parallel)
{
	if (atomic_fetch_sub(&parallel->refs, 1) != 1)
		return;
	pthread_cond_destroy(&parallel->idle);
	pthread_mutex_destroy(&parallel->lock);
	free(parallel);
}

/* Called with the lock held, which is released during each call of run(). */
static void work(struct parallel *parallel)
{
	while (parallel->next < parallel->n) {
		const size_t i = parallel->next++;
		int rc;

		pthread_mutex_unlock(&parallel->lock);
		rc = parallel->run(parallel->context, i);
		pthread_mutex_lock(&parallel->lock);
		if (rc < 0 && parallel->rc == 0)
			parallel->rc = rc;
		if (rc < 0)
			parallel->next = parallel->n;
	}
}

static void help(void *argument)
{
	struct parallel *parallel = argument;

	pthread_mutex_lock(&parallel->lock);
	parallel->running++;
	work(parallel);
	if (--parallel->running == 0)
		pthread_cond_signal(&parallel->idle);
	pthread_mutex_unlock(&parallel->lock);
	unref(parallel);
}

static void call_helpers(struct parallel *parallel, struct pool *pool, unsigned helpers)
{
	for (; helpers > 0; helpers--) {
		atomic_fetch_add(&parallel->refs, 1);
		if (pool_submit(pool, help, parallel) < 0) {
			unref(parallel);
			return;
		}
	}
}

/* The loop on this thread alone, which needs no memory. */
static int run_alone(size_t n, int (*run)(void *context, size_t i), void *context)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < n; i++)
		rc = run(context, i);
	return rc < 0 ? rc : 0;
}

int parallel_run(struct pool *pool, unsigned helpers, size_t n, int (*run)(void *context, size_t i),
		 void *context)
{
	struct parallel *parallel = NULL;
	int rc;

	if (pool && helpers > 0 && n > 1)
		parallel = calloc(1, sizeof(*parallel));
	if (!parallel)
		return run_alone(n, run, context);
	atomic_init(&parallel->refs, 1);
	pthread_mutex_init(&parallel->lock, NULL);
	pthread_cond_init(&parallel->idle, NULL);
	parallel->run = run;
	parallel->context = context;
	parallel->n = n;
	call_helpers(parallel, pool, n - 1 < helpers ? (unsigned)(n - 1) : helpers);
	pthread_mutex_lock(&parallel->lock);
	work(parallel);
	while (parallel->running)
		pthread_cond_wait(&parallel->idle, &parallel->lock);
	rc = parallel->rc;
	pthread_mutex_unlock(&parallel->lock);
	unref(parallel);
	return rc;
}
