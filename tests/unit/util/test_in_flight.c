/* SPDX-License-Identifier: MIT */
/* test_in_flight.c - fs/util/in_flight.c: whoever waits goes on when there is none left, and not
 * before. */
#include "fs/util/in_flight.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct waiter {
	struct in_flight *in_flight;
	atomic_bool over;
};

static void *wait_for_none(void *argument)
{
	struct waiter *waiter = argument;

	in_flight_wait(waiter->in_flight);
	atomic_store(&waiter->over, true);
	return NULL;
}

static void a_waiter_waits_for_all(void **state)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	struct waiter waiter = { .in_flight = in_flight_new() };
	pthread_t thread;

	(void)state;
	assert_non_null(waiter.in_flight);
	assert_false(in_flight_any(waiter.in_flight));
	in_flight_wait(waiter.in_flight);
	in_flight_begin(waiter.in_flight);
	in_flight_begin(waiter.in_flight);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_none, &waiter), 0);
	in_flight_end(waiter.in_flight);
	nanosleep(&moment, NULL);
	assert_true(in_flight_any(waiter.in_flight));
	assert_false(atomic_load(&waiter.over));
	in_flight_end(waiter.in_flight);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&waiter.over));
	assert_false(in_flight_any(waiter.in_flight));
	in_flight_free(waiter.in_flight);
	in_flight_free(NULL);
}

static void a_release_is_waited_for_until_it_comes(void **state)
{
	struct waiter waiter = { .in_flight = in_flight_new() };
	pthread_t thread;

	(void)state;
	in_flight_expect(waiter.in_flight);
	assert_true(in_flight_any(waiter.in_flight));
	assert_int_equal(pthread_create(&thread, NULL, wait_for_none, &waiter), 0);
	in_flight_begin(waiter.in_flight);
	in_flight_unexpect(waiter.in_flight);
	assert_true(in_flight_any(waiter.in_flight));
	in_flight_end(waiter.in_flight);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(in_flight_any(waiter.in_flight));
	in_flight_free(waiter.in_flight);
}

static void one_that_does_not_come_is_waited_for_no_longer_than_said(void **state)
{
	struct in_flight *in_flight = in_flight_new();

	(void)state;
	in_flight_expect(in_flight);
	in_flight_wait(in_flight);
	assert_false(in_flight_any(in_flight));
	/* It was no close: nothing else is disturbed. */
	in_flight_unexpect(in_flight);
	assert_false(in_flight_any(in_flight));
	in_flight_free(in_flight);
}

UNIT_MAIN(NULL, NULL)
