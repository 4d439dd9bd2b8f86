/* SPDX-License-Identifier: MIT */
/* test_read_threads.c - fs/storage/read_threads.c: threads that may read from disks. */
#include "tests/unit/unit.h"

#include "fs/storage/read_threads.h"
#include "fs/util/pool.h"

#include <semaphore.h>

static void all_but_two_threads_of_the_session_read(void **state)
{
	struct read_threads *read_threads = read_threads_new(5);

	(void)state;
	assert_non_null(read_threads);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			assert_true(read_threads_try_enter(read_threads));
		assert_false(read_threads_try_enter(read_threads));
		assert_false(read_threads_try_enter(read_threads));
		read_threads_leave(read_threads);
		assert_true(read_threads_try_enter(read_threads));
		for (int i = 0; i < 3; i++)
			read_threads_leave(read_threads);
	}
	read_threads_set_alone(read_threads, true);
	assert_false(read_threads_try_enter(read_threads));
	read_threads_set_alone(read_threads, false);
	assert_true(read_threads_try_enter(read_threads));
	read_threads_leave(read_threads);
	read_threads_free(read_threads);
}

static void few_threads_do_not_read(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct read_threads *read_threads = read_threads_new(threads);

		assert_non_null(read_threads);
		assert_false(read_threads_try_enter(read_threads));
		read_threads_free(read_threads);
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

static void filesystem_does_not_block_another(void **state)
{
	struct read_threads *read_threads = read_threads_new(4);
	sem_t hang, answered;

	(void)state;
	assert_non_null(read_threads);
	sem_init(&hang, 0, 0);
	sem_init(&answered, 0, 0);
	for (int i = 0; i < 3 * READ_THREADS_MAX; i++)
		assert_int_equal(pool_submit(read_threads_for_device(read_threads, 1), wait_for,
					     &hang),
				 0);
	assert_int_equal(pool_submit(read_threads_for_device(read_threads, 2), answer, &answered),
			 0);
	sem_wait(&answered);
	assert_ptr_equal(read_threads_for_device(read_threads, 1),
			 read_threads_for_device(read_threads, 1));
	assert_ptr_not_equal(read_threads_for_device(read_threads, 1),
			     read_threads_for_device(read_threads, 2));
	for (int i = 0; i < 3 * READ_THREADS_MAX; i++)
		sem_post(&hang);
	/* Each device has a thread, for any number of devices. */
	for (dev_t device = 3; device < 40; device++) {
		assert_int_equal(pool_submit(read_threads_for_device(read_threads, device), answer,
					     &answered),
				 0);
		sem_wait(&answered);
	}
	read_threads_free(read_threads);
	sem_destroy(&hang);
	sem_destroy(&answered);
}

UNIT_MAIN(NULL, NULL)
