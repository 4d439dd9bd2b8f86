/* SPDX-License-Identifier: MIT */
/* test_name_locks.c - fs/tree/name_locks.c: one thread at a time for each name. */
#include "fs/tree/name_locks.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#include <pthread.h>

enum { HERE = 20, THERE = 21 };

static struct name_lock lock_of(uint64_t directory, const char *first, const char *second)
{
	return (struct name_lock){ .names = { { directory, first }, { directory, second } } };
}

struct waiter {
	struct name_locks *locks;
	struct name_lock lock;
	struct task task;
};

static void *take(void *argument)
{
	struct waiter *waiter = argument;

	name_locks_take(waiter->locks, &waiter->lock);
	return NULL;
}

static void different_names_do_not_wait(void **state)
{
	struct name_locks *locks = name_locks_new();
	struct name_lock held = lock_of(HERE, "a", "b"), alone = lock_of(HERE, "c", NULL),
			 elsewhere = lock_of(THERE, "a", "b");

	(void)state;
	assert_non_null(locks);
	name_locks_take(locks, &held);
	name_locks_take(locks, &alone);
	name_locks_take(locks, &elsewhere);
	name_locks_release(locks, &held);
	name_locks_release(locks, &elsewhere);
	name_locks_release(locks, &alone);
	name_locks_take(locks, &held);
	name_locks_release(locks, &held);
	name_locks_free(locks);
}

static void equal_name_at_another_address_waits(void **state)
{
	/* The text equals the held names', at other addresses. */
	static const char a[] = "a", b[] = "b";
	static const char *const pairs[][2] = { { a, NULL }, { b, NULL }, { "x", a }, { b, "x" } };
	struct name_locks *locks = name_locks_new();
	struct name_lock held = lock_of(HERE, "a", "b");

	(void)state;
	assert_non_null(locks);
	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
		struct waiter waiter = { locks, lock_of(HERE, pairs[i][0], pairs[i][1]), { 0 } };

		name_locks_take(locks, &held);
		task_begin(&waiter.task, take, &waiter);
		assert_true(task_sleeps(&waiter.task));
		name_locks_release(locks, &held);
		task_end(&waiter.task);
		name_locks_release(locks, &waiter.lock);
	}
	name_locks_free(locks);
}

struct crowd {
	struct name_locks *locks;
	int *counts; /* of two names; only the locks protect them */
	unsigned number;
};

static void *count_up(void *argument)
{
	struct crowd *crowd = argument;

	for (int i = 0; i < 2000; i++) {
		const unsigned which = (crowd->number + (unsigned)i) % 3;
		struct name_lock lock = which == 2 ? lock_of(HERE, "1", "0")
						   : lock_of(HERE, which ? "1" : "0", NULL);

		name_locks_take(crowd->locks, &lock);
		if (which != 1)
			crowd->counts[0]++;
		if (which != 0)
			crowd->counts[1]++;
		name_locks_release(crowd->locks, &lock);
	}
	return NULL;
}

static void one_thread_at_a_time_holds_a_name(void **state)
{
	struct name_locks *locks = name_locks_new();
	int counts[2] = { 0 };
	struct crowd crowds[4];
	pthread_t threads[4];

	(void)state;
	assert_non_null(locks);
	for (unsigned i = 0; i < 4; i++) {
		crowds[i] = (struct crowd){ locks, counts, i };
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, &crowds[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* Each count gets two of three turns, of 8,000. */
	assert_int_equal(counts[0], 5333);
	assert_int_equal(counts[1], 5333);
	name_locks_free(locks);
}

static void without_memory_there_are_no_locks(void **state)
{
	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(name_locks_new());
	assert_true(allocation_failed());
	name_locks_free(NULL);
}

UNIT_MAIN(NULL, NULL)
