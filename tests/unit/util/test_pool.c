/* SPDX-License-Identifier: MIT */
/* test_pool.c - fs/util/pool.c: every job runs once, in order, on few enough threads. */
#include "fs/util/pool.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static void count_one(void *argument)
{
	atomic_fetch_add((atomic_int *)argument, 1);
}

static void a_pool_that_was_not_used_is_freed(void **state)
{
	(void)state;
	pool_free(pool_new(4));
	pool_free(NULL);
}

static void freeing_waits_for_every_job(void **state)
{
	struct pool *pool = pool_new(3);
	atomic_int ran = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pool_submit(pool, count_one, &ran), 0);
	pool_free(pool);
	assert_int_equal(ran, 1000);
}

/* Jobs that note their order. */
struct order {
	int *next, place;
};

static void note_place(void *argument)
{
	struct order *order = argument;

	order->place = (*order->next)++;
}

static void single_thread_runs_jobs_in_submission_order(void **state)
{
	struct pool *pool = pool_new(1);
	struct order orders[200];
	int next = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(orders); i++) {
		orders[i] = (struct order){ &next, -1 };
		assert_int_equal(pool_submit(pool, note_place, &orders[i]), 0);
	}
	pool_free(pool);
	for (size_t i = 0; i < ARRAY_LENGTH(orders); i++)
		assert_int_equal(orders[i].place, i);
}

/* Jobs that wait until that many of them run. */
struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t change;
	int here, most, expected;
};

static void meet(void *argument)
{
	struct meeting *meeting = argument;

	pthread_mutex_lock(&meeting->lock);
	meeting->here++;
	pthread_cond_broadcast(&meeting->change);
	while (meeting->here < meeting->expected)
		pthread_cond_wait(&meeting->change, &meeting->lock);
	pthread_mutex_unlock(&meeting->lock);
}

static void jobs_run_at_once_on_all_threads(void **state)
{
	struct meeting meeting = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 4 };
	struct pool *pool = pool_new(4);

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pool_submit(pool, meet, &meeting), 0);
	pool_free(pool);
	assert_int_equal(meeting.here, 4);
}

static void come_and_go(void *argument)
{
	struct meeting *meeting = argument;

	pthread_mutex_lock(&meeting->lock);
	if (++meeting->here > meeting->most)
		meeting->most = meeting->here;
	pthread_mutex_unlock(&meeting->lock);
	sched_yield();
	pthread_mutex_lock(&meeting->lock);
	meeting->here--;
	pthread_mutex_unlock(&meeting->lock);
}

static void no_more_run_at_once_than_there_are_threads(void **state)
{
	struct meeting meeting = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 };
	struct pool *pool = pool_new(2);

	(void)state;
	for (int i = 0; i < 300; i++)
		assert_int_equal(pool_submit(pool, come_and_go, &meeting), 0);
	pool_free(pool);
	assert_int_equal(meeting.here, 0);
	assert_between(meeting.most, 1, 2);
}

/* A job that submits another one. */
struct chain {
	struct pool *pool;
	atomic_int left;
};

static void submit_next(void *argument)
{
	struct chain *chain = argument;

	if (atomic_fetch_sub(&chain->left, 1) > 1)
		pool_submit(chain->pool, submit_next, chain);
}

static void a_job_may_submit_another_even_while_the_pool_is_freed(void **state)
{
	struct chain chain = { .pool = pool_new(2), .left = 50 };

	(void)state;
	assert_int_equal(pool_submit(chain.pool, submit_next, &chain), 0);
	pool_free(chain.pool);
	assert_int_equal(chain.left, 0);
}

struct submitter {
	struct pool *pool;
	atomic_int *ran;
};

static void *submit_many(void *argument)
{
	struct submitter *submitter = argument;

	for (int i = 0; i < 200; i++)
		pool_submit(submitter->pool, count_one, submitter->ran);
	return NULL;
}

static void threads_may_submit_at_once(void **state)
{
	atomic_int ran = 0;
	struct submitter submitter = { pool_new(3), &ran };
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitter), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	pool_free(submitter.pool);
	assert_int_equal(ran, 800);
}

static void note_signals(void *argument)
{
	pthread_sigmask(SIG_SETMASK, NULL, argument);
}

static void signals_do_not_reach_its_threads(void **state)
{
	struct pool *pool = pool_new(1);
	sigset_t inside, before, after;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(pool_submit(pool, note_signals, &inside), 0);
	pool_free(pool);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(sigismember(&inside, SIGTERM));
	assert_true(sigismember(&inside, SIGINT));
	assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

UNIT_MAIN(NULL, NULL)
