/* SPDX-License-Identifier: MIT */
/* test_pending.c - fs/pending.c: whoever waits goes on when there is none left, and not before. */
#include "fs/util/in_flight.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct waiter {
	struct pending *pending;
	atomic_bool over;
};

static void *wait_for_none(void *argument)
{
	struct waiter *waiter = argument;

	pending_wait(waiter->pending);
	atomic_store(&waiter->over, true);
	return NULL;
}

static void a_waiter_waits_for_all(void **state)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	struct waiter waiter = { .pending = pending_new() };
	pthread_t thread;

	(void)state;
	assert_non_null(waiter.pending);
	assert_false(pending_any(waiter.pending));
	pending_wait(waiter.pending);
	pending_begin(waiter.pending);
	pending_begin(waiter.pending);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_none, &waiter), 0);
	pending_end(waiter.pending);
	nanosleep(&moment, NULL);
	assert_true(pending_any(waiter.pending));
	assert_false(atomic_load(&waiter.over));
	pending_end(waiter.pending);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&waiter.over));
	assert_false(pending_any(waiter.pending));
	pending_free(waiter.pending);
	pending_free(NULL);
}

static void a_release_is_waited_for_until_it_comes(void **state)
{
	struct waiter waiter = { .pending = pending_new() };
	pthread_t thread;

	(void)state;
	pending_expect(waiter.pending);
	assert_true(pending_any(waiter.pending));
	assert_int_equal(pthread_create(&thread, NULL, wait_for_none, &waiter), 0);
	pending_begin(waiter.pending);
	pending_unexpect(waiter.pending);
	assert_true(pending_any(waiter.pending));
	pending_end(waiter.pending);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(pending_any(waiter.pending));
	pending_free(waiter.pending);
}

static void one_that_does_not_come_is_waited_for_no_longer_than_said(void **state)
{
	struct pending *pending = pending_new();

	(void)state;
	pending_expect(pending);
	pending_wait(pending);
	assert_false(pending_any(pending));
	/* It was no close: nothing else is disturbed. */
	pending_unexpect(pending);
	assert_false(pending_any(pending));
	pending_free(pending);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_waiter_waits_for_all),
	cmocka_unit_test(a_release_is_waited_for_until_it_comes),
	cmocka_unit_test(one_that_does_not_come_is_waited_for_no_longer_than_said),
};

UNIT_MAIN(tests)
