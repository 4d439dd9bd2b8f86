/* SPDX-License-Identifier: MIT */
/* test_readers.c - fs/readers.c: which threads may read from disks. */
#include "tests/unit/unit.h"

#include "fs/storage/read_threads.h"

#include <semaphore.h>

static void all_but_two_threads_of_the_session_read(void **state)
{
	struct readers *readers = readers_new(5);

	(void)state;
	assert_non_null(readers);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			assert_true(readers_enter(readers));
		assert_false(readers_enter(readers));
		assert_false(readers_enter(readers));
		readers_leave(readers);
		assert_true(readers_enter(readers));
		for (int i = 0; i < 3; i++)
			readers_leave(readers);
	}
	readers_alone(readers, true);
	assert_false(readers_enter(readers));
	readers_alone(readers, false);
	assert_true(readers_enter(readers));
	readers_leave(readers);
	readers_free(readers);
}

static void few_threads_do_not_read(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct readers *readers = readers_new(threads);

		assert_non_null(readers);
		assert_false(readers_enter(readers));
		readers_free(readers);
	}
}

static void wait_for(void *argument)
{
	sem_wait(argument);
}

static void answer(void *argument)
{
	sem_post(argument);
}

static void one_filesystem_does_not_keep_another_waiting(void **state)
{
	struct readers *readers = readers_new(4);
	sem_t hang, answered;

	(void)state;
	assert_non_null(readers);
	sem_init(&hang, 0, 0);
	sem_init(&answered, 0, 0);
	for (int i = 0; i < 3 * READERS_MOST; i++)
		assert_int_equal(pool_submit(readers_of(readers, 1), wait_for, &hang), 0);
	assert_int_equal(pool_submit(readers_of(readers, 2), answer, &answered), 0);
	sem_wait(&answered);
	assert_ptr_equal(readers_of(readers, 1), readers_of(readers, 1));
	assert_ptr_not_equal(readers_of(readers, 1), readers_of(readers, 2));
	for (int i = 0; i < 3 * READERS_MOST; i++)
		sem_post(&hang);
	/* There is a thread for each, of however many there are. */
	for (dev_t device = 3; device < 40; device++) {
		assert_int_equal(pool_submit(readers_of(readers, device), answer, &answered), 0);
		sem_wait(&answered);
	}
	readers_free(readers);
	sem_destroy(&hang);
	sem_destroy(&answered);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(all_but_two_threads_of_the_session_read),
	cmocka_unit_test(few_threads_do_not_read),
	cmocka_unit_test(one_filesystem_does_not_keep_another_waiting),
};

UNIT_MAIN(tests)
