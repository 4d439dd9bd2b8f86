/* SPDX-License-Identifier: MIT */
/* pool.c - see pool.h. */
#include "fs/util/pool.h"
#include "fs/util/credentials.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
	struct job *next;
	void (*run)(void *argument);
	void *argument;
};

struct pool {
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t wake;
	struct job *first, **last;
	bool closing;
	unsigned most, started, idle, queued;
	pthread_t threads[];
};

struct pool *pool_new(unsigned threads)
{
	struct pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));

	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->last = &pool->first;
	pool->most = threads;
	return pool;
}

static void *work(void *argument)
{
	struct pool *pool = argument;
	struct credentials submitter;

	/* A thread inherits the rights of the submitter, perhaps a user's: drop them. */
	credentials_assume(geteuid(), getegid(), &submitter);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct job *job = pool->first;

		if (!job && pool->closing)
			break;
		if (!job) {
			pool->idle++;
			pthread_cond_wait(&pool->wake, &pool->lock);
			pool->idle--;
			continue;
		}
		pool->first = job->next;
		pool->queued--;
		if (!pool->first)
			pool->last = &pool->first;
		pthread_mutex_unlock(&pool->lock);
		job->run(job->argument);
		free(job);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->wake);
	/* A running job may submit another one, which may start a thread. */
	for (unsigned i = 0; i < pool->started; i++) {
		pthread_mutex_unlock(&pool->lock);
		pthread_join(pool->threads[i], NULL);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Block all signals in the pool's threads: the main thread handles them, and here they would only
 * interrupt reads and writes. */
static void start_thread(struct pool *pool)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&pool->threads[pool->started], NULL, work, pool) == 0)
		pool->started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int pool_submit(struct pool *pool, void (*run)(void *argument), void *argument)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct job){ NULL, run, argument };
	pthread_mutex_lock(&pool->lock);
	if (pool->queued >= pool->idle && pool->started < pool->most)
		start_thread(pool);
	if (pool->started == 0) {
		pthread_mutex_unlock(&pool->lock);
		free(job);
		/* pthread_create() fails with EAGAIN, but programs that get EAGAIN from read() wait
		 * as for a pipe, and Python returns the partial data as the whole. */
		return -ENOMEM;
	}
	*pool->last = job;
	pool->last = &job->next;
	pool->queued++;
	pthread_mutex_unlock(&pool->lock);
	/* Signal after the unlock, else the woken thread would block on the lock. */
	pthread_cond_signal(&pool->wake);
	return 0;
}
