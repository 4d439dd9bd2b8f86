/* SPDX-License-Identifier: MIT */
/* test_fifo_lock.c - fs/util/fifo_lock.c: one thread at a time, in the order of arrival, and waits
 * that can be cancelled. */
#include "fs/util/fifo_lock.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

static void lock_is_free_after_release(void **state)
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
	atomic_bool cancel, leave;
	atomic_int *inside, *served;
	int rc, turn;
	struct task task;
};

static void *visit(void *argument)
{
	struct visitor *visitor = argument;

	visitor->rc = fifo_lock_acquire(visitor->fifo_lock, &visitor->cancel);
	if (visitor->rc < 0)
		return NULL;
	if (atomic_fetch_add(visitor->inside, 1) != 0)
		visitor->rc = -1;
	visitor->turn = atomic_load(visitor->served);
	atomic_fetch_add(visitor->served, 1);
	while (!atomic_load(&visitor->leave))
		tick();
	atomic_fetch_sub(visitor->inside, 1);
	fifo_lock_release(visitor->fifo_lock);
	return NULL;
}

#define VISITORS 8

/* While one thread holds the lock, others queue up; cancelled ones leave at once. */
static void waiting_threads_can_cancel(void **state)
{
	struct visitor visitors[VISITORS];
	struct fifo_lock *fifo_lock = fifo_lock_new();
	atomic_int inside = 0, served = 0;
	int turn = 0;

	(void)state;
	assert_int_equal(fifo_lock_acquire(fifo_lock, NULL), 0);
	for (int i = 0; i < VISITORS; i++) {
		visitors[i] = (struct visitor){ .fifo_lock = fifo_lock,
						.inside = &inside,
						.served = &served };
		task_begin(&visitors[i].task, visit, &visitors[i]);
		assert_true(task_sleeps(&visitors[i].task));
	}
	for (int i = 0; i < VISITORS; i += 3) {
		atomic_store(&visitors[i].cancel, true);
		task_end(&visitors[i].task);
		assert_int_equal(visitors[i].rc, -EINTR);
	}
	assert_int_equal(served, 0);
	fifo_lock_release(fifo_lock);
	for (int i = 0; i < VISITORS; i++) {
		if (i % 3 == 0)
			continue;
		while (atomic_load(&served) <= turn)
			tick();
		assert_int_equal(visitors[i].turn, turn++);
		for (int k = i + 1; k < VISITORS; k++)
			assert_true(k % 3 == 0 || task_sleeps(&visitors[k].task));
		atomic_store(&visitors[i].leave, true);
		task_end(&visitors[i].task);
		assert_int_equal(visitors[i].rc, 0);
	}
	assert_int_equal(fifo_lock_acquire(fifo_lock, NULL), 0);
	fifo_lock_release(fifo_lock);
	fifo_lock_free(fifo_lock);
}

UNIT_MAIN(NULL, NULL)
