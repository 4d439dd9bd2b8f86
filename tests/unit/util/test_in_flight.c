/* SPDX-License-Identifier: MIT */
/* test_in_flight.c - fs/util/in_flight.c: a waiting thread continues when no request is left, and
 * not before. */
#include "fs/util/in_flight.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#include <time.h>

/* -Wl,--wrap=clock_gettime and -Wl,--wrap=pthread_cond_timedwait: in this file the clock stands
 * still, except for waits that it ends. */
static struct timespec now;
static bool clock_stands, clock_ends_waits;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!clock_stands)
		return __real_clock_gettime(clock, time);
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*time = now;
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	if (!clock_stands)
		return __real_pthread_cond_timedwait(condition, lock, until);
	if (!clock_ends_waits)
		return pthread_cond_wait(condition, lock);
	now = *until;
	return ETIMEDOUT;
}

static int stop_clock(void **state)
{
	(void)state;
	clock_stands = true;
	return 0;
}

static void *wait_for_none(void *in_flight)
{
	in_flight_wait(in_flight);
	return NULL;
}

static void a_waiter_waits_for_all(void **state)
{
	struct in_flight *in_flight = in_flight_new();
	struct task waiter;

	(void)state;
	assert_non_null(in_flight);
	assert_false(in_flight_any(in_flight));
	in_flight_wait(in_flight);
	in_flight_begin(in_flight);
	in_flight_begin(in_flight);
	task_begin(&waiter, wait_for_none, in_flight);
	assert_true(task_sleeps(&waiter));
	in_flight_end(in_flight);
	assert_true(task_sleeps(&waiter));
	assert_true(in_flight_any(in_flight));
	in_flight_end(in_flight);
	task_end(&waiter);
	assert_false(in_flight_any(in_flight));
	in_flight_free(in_flight);
	in_flight_free(NULL);
}

static void a_release_is_waited_for_until_it_comes(void **state)
{
	struct in_flight *in_flight = in_flight_new();
	struct task waiter;

	(void)state;
	in_flight_expect(in_flight);
	assert_true(in_flight_any(in_flight));
	task_begin(&waiter, wait_for_none, in_flight);
	assert_true(task_sleeps(&waiter));
	in_flight_begin(in_flight);
	in_flight_unexpect(in_flight);
	assert_true(in_flight_any(in_flight));
	in_flight_end(in_flight);
	task_end(&waiter);
	assert_false(in_flight_any(in_flight));
	in_flight_free(in_flight);
}

static void wait_for_missing_request_ends_after_its_limit(void **state)
{
	struct in_flight *in_flight = in_flight_new();
	const struct timespec began = now;

	(void)state;
	in_flight_expect(in_flight);
	clock_ends_waits = true;
	in_flight_wait(in_flight);
	clock_ends_waits = false;
	assert_int_equal(now.tv_sec, began.tv_sec + IN_FLIGHT_EXPECT_SECONDS);
	assert_int_equal(now.tv_nsec, began.tv_nsec);
	assert_false(in_flight_any(in_flight));
	/* The expected close did not come, and later calls are not affected. */
	in_flight_unexpect(in_flight);
	assert_false(in_flight_any(in_flight));
	in_flight_free(in_flight);
}

UNIT_MAIN(stop_clock, NULL)
