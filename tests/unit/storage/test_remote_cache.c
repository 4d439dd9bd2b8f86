/* SPDX-License-Identifier: MIT */
/* test_remote_cache.c - fs/storage/remote_cache.c: a block is cached once, for a while, and
 * threads that wait for a failing block do not wait for ever. */
#include "fs/storage/remote_cache.h"
#include "tests/unit/poll_wait.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

static struct remote_cache *cache_setup(void)
{
	struct remote_cache *cache = remote_cache_new();

	assert_non_null(cache);
	return cache;
}

/* Fetch block number i, which is absent; its bytes all are that number. */
static void put_in(struct remote_cache *cache, uint64_t file, uint64_t i)
{
	static uint8_t bytes[REMOTE_BLOCK];
	struct remote_block *block;
	size_t n = 1;

	memset(bytes, (int)i, sizeof(bytes));
	assert_int_equal(remote_cache_get(cache, file, i, &n, &block), REMOTE_MISSING);
	assert_int_equal(n, 1);
	remote_cache_fill(cache, file, i, 1, bytes, REMOTE_BLOCK);
}

static bool has(struct remote_cache *cache, uint64_t file, uint64_t i)
{
	return remote_cache_peek(cache, file, i) == REMOTE_PRESENT;
}

static void fetched_block_is_cached(void **state)
{
	struct remote_cache *cache = cache_setup();
	struct remote_block *block;
	size_t n = 1;

	(void)state;
	assert_int_equal(remote_cache_peek(cache, 0, 5), REMOTE_MISSING);
	put_in(cache, 0, 5);
	assert_int_equal(remote_cache_get(cache, 0, 5, &n, &block), REMOTE_PRESENT);
	assert_int_equal(remote_block_bytes(block)[REMOTE_BLOCK - 1], 5);
	remote_cache_put(cache, block);
	assert_false(has(cache, 1, 5));
	remote_cache_unref(cache);
}

static void fetch_range_ends_before_a_present_block(void **state)
{
	static uint8_t bytes[3 * REMOTE_BLOCK];
	struct remote_cache *cache = cache_setup();
	struct remote_block *block;
	size_t n = 8;

	(void)state;
	put_in(cache, 0, 3);
	assert_int_equal(remote_cache_get(cache, 0, 0, &n, &block), REMOTE_MISSING);
	assert_int_equal(n, 3);
	assert_int_equal(remote_cache_peek(cache, 0, 2), REMOTE_FETCHING);
	remote_cache_fill(cache, 0, 0, 3, bytes, 10);
	assert_true(has(cache, 0, 2));
	assert_int_equal(remote_cache_bytes(cache), 3 * REMOTE_BLOCK + 10);
	remote_cache_unref(cache);
}

static void full_cache_evicts_the_oldest_block(void **state)
{
	const size_t most = REMOTE_CACHE_BYTES / REMOTE_BLOCK;
	struct remote_cache *cache = cache_setup();
	struct remote_block *block, *held;
	size_t n = 1;

	(void)state;
	for (size_t i = 0; i < most; i++)
		put_in(cache, 0, i);
	assert_int_equal(remote_cache_bytes(cache), REMOTE_CACHE_BYTES);
	assert_int_equal(remote_cache_get(cache, 0, 0, &n, &block), REMOTE_PRESENT);
	remote_cache_put(cache, block);
	assert_int_equal(remote_cache_get(cache, 0, 1, &n, &held), REMOTE_PRESENT);
	for (size_t i = 0; i < most - 1; i++)
		put_in(cache, 1, i);
	assert_int_equal(remote_cache_bytes(cache), REMOTE_CACHE_BYTES);
	assert_false(has(cache, 0, 2));
	assert_true(has(cache, 0, 1)); /* a thread copies from it */
	remote_cache_put(cache, held);
	remote_cache_drop_file(cache, 1);
	assert_between(remote_cache_bytes(cache), REMOTE_BLOCK, 2 * REMOTE_BLOCK);
	remote_cache_unref(cache);
}

static void pinned_blocks_are_not_evicted(void **state)
{
	const size_t most = REMOTE_CACHE_BYTES / REMOTE_BLOCK;
	struct remote_cache *cache = cache_setup();

	(void)state;
	put_in(cache, 0, 0);
	put_in(cache, 0, 1);
	remote_cache_keep(cache, 0, 2);
	remote_cache_keep(cache, 0, 2);
	for (size_t i = 0; i < most + 5; i++)
		put_in(cache, 1, i);
	assert_true(has(cache, 0, 0) && has(cache, 0, 1));
	assert_int_equal(remote_cache_bytes(cache), REMOTE_CACHE_BYTES + 2 * REMOTE_BLOCK);
	remote_cache_drop_file(cache, 0);
	assert_false(has(cache, 0, 0));
	remote_cache_unref(cache);
}

/* Number of threads that have begun to wait. In this file each wait lasts until a wake-up, instead
 * of a moment. */
static atomic_int waiting;

static void count_and_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	atomic_fetch_add(&waiting, 1);
	pthread_cond_wait(condition, lock);
}

static int wait_until_woken(void **state)
{
	(void)state;
	poll_wait = count_and_wait;
	return 0;
}

struct waiter {
	struct remote_cache *cache;
	int rc;
};

static void *wait_for(void *context)
{
	struct waiter *waiter = context;

	waiter->rc = remote_cache_wait(waiter->cache, 0, 7);
	return NULL;
}

/* Check two threads that wait for a block, whose fetch ends with rc. */
static void assert_waiters(int rc, int expected)
{
	struct remote_cache *cache = cache_setup();
	struct waiter waiters[2] = { { cache, 1 }, { cache, 1 } };
	struct remote_block *block;
	struct task tasks[2];
	size_t n = 1;

	atomic_store(&waiting, 0);
	assert_int_equal(remote_cache_get(cache, 0, 7, &n, &block), REMOTE_MISSING);
	for (int i = 0; i < 2; i++)
		task_begin(&tasks[i], wait_for, &waiters[i]);
	while (atomic_load(&waiting) < 2)
		tick();
	remote_cache_fail(cache, 0, 7, 1, rc);
	for (int i = 0; i < 2; i++) {
		task_end(&tasks[i]);
		assert_int_equal(waiters[i].rc, expected);
	}
	assert_int_equal(remote_cache_peek(cache, 0, 7), REMOTE_MISSING);
	remote_cache_unref(cache);
}

static void waiters_get_the_error_of_the_fetch(void **state)
{
	(void)state;
	assert_waiters(-EIO, -EIO);
}

static void waiters_of_interrupted_fetch_retry(void **state)
{
	(void)state;
	assert_waiters(-EINTR, 0);
}

static void interrupt_flag_can_be_set_and_cleared(void **state)
{
	struct remote_cache *cache = cache_setup();

	(void)state;
	assert_false(atomic_load(remote_cache_interrupted(cache)));
	remote_cache_interrupt(cache, true);
	assert_true(atomic_load(remote_cache_interrupted(cache)));
	remote_cache_interrupt(cache, false);
	assert_false(atomic_load(remote_cache_interrupted(cache)));
	assert_int_not_equal(remote_cache_add_file(cache), remote_cache_add_file(cache));
	remote_cache_unref(remote_cache_ref(cache));
	remote_cache_unref(cache);
}

static void without_memory_no_block_is_cached(void **state)
{
	static uint8_t bytes[REMOTE_BLOCK];
	struct remote_block *block;
	struct remote_cache *cache;
	size_t n = 4;

	needs_failing_allocations();
	(void)state;
	allocation_fails(1);
	assert_null(remote_cache_new());
	cache = cache_setup();
	allocation_fails(3);
	assert_int_equal(remote_cache_get(cache, 0, 0, &n, &block), REMOTE_MISSING);
	assert_int_equal(n, 2);
	assert_true(allocation_failed());
	remote_cache_fail(cache, 0, 0, 2, -ENOMEM);
	n = 1;
	assert_int_equal(remote_cache_get(cache, 0, 0, &n, &block), REMOTE_MISSING);
	allocation_fails(1);
	assert_int_equal(remote_cache_fill(cache, 0, 0, 1, bytes, REMOTE_BLOCK), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(remote_cache_peek(cache, 0, 0), REMOTE_MISSING);
	assert_int_equal(remote_cache_bytes(cache), 0);
	remote_cache_unref(cache);
}

UNIT_MAIN(wait_until_woken, NULL)
