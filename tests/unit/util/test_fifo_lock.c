/* SPDX-License-Identifier: MIT */
/* test_fifo_lock.c - fs/util/fifo_lock.c: one at a time, and nobody has to wait who does not want
 * to. */
#include "fs/util/fifo_lock.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <unistd.h>

static void it_is_free_again_when_it_is_given_back(void **state)
{
	struct fifo_lock *fifo_lock = fifo_lock_new();

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fifo_lock_acquire(fifo_lock, NULL), 0);
		fifo_lock_release(fifo_lock);
	}
	fifo_lock_free(fifo_lock);
	fifo_lock_free(NULL);
}

struct visitor {
	struct fifo_lock *fifo_lock;
	atomic_bool cancel;
	atomic_int *inside, *served;
	int rc;
	pthread_t thread;
};

static void *visit(void *argument)
{
	struct visitor *visitor = argument;

	visitor->rc = fifo_lock_acquire(visitor->fifo_lock, &visitor->cancel);
	if (visitor->rc < 0)
		return NULL;
	if (atomic_fetch_add(visitor->inside, 1) != 0)
		visitor->rc = -1;
	usleep(1000);
	atomic_fetch_add(visitor->served, 1);
	atomic_fetch_sub(visitor->inside, 1);
	fifo_lock_release(visitor->fifo_lock);
	return NULL;
}

#define VISITORS 8

/* While somebody has it, others queue up; those that are cancelled leave at once. */
static void the_others_wait_and_may_leave(void **state)
{
	struct visitor visitors[VISITORS];
	struct fifo_lock *fifo_lock = fifo_lock_new();
	atomic_int inside = 0, served = 0;

	(void)state;
	assert_int_equal(fifo_lock_acquire(fifo_lock, NULL), 0);
	for (int i = 0; i < VISITORS; i++) {
		visitors[i] = (struct visitor){ .fifo_lock = fifo_lock,
						.inside = &inside,
						.served = &served };
		assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
	}
	for (int i = 0; i < VISITORS; i += 3) {
		atomic_store(&visitors[i].cancel, true);
		pthread_join(visitors[i].thread, NULL);
		assert_int_equal(visitors[i].rc, -EINTR);
	}
	assert_int_equal(served, 0);
	fifo_lock_release(fifo_lock);
	for (int i = 0; i < VISITORS; i++) {
		if (i % 3 == 0)
			continue;
		pthread_join(visitors[i].thread, NULL);
		assert_int_equal(visitors[i].rc, 0);
	}
	assert_int_equal(fifo_lock_acquire(fifo_lock, NULL), 0);
	fifo_lock_release(fifo_lock);
	fifo_lock_free(fifo_lock);
}

UNIT_MAIN(NULL, NULL)
