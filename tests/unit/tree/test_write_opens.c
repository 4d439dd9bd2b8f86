/* SPDX-License-Identifier: MIT */
/* test_write_opens.c - fs/tree/write_opens.c: the two lookups of one open(). */
#include "fs/tree/write_opens.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <time.h>

/* -Wl,--wrap=clock_gettime: seconds added to the clock. */
static time_t later;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const int rc = __real_clock_gettime(clock, now);

	now->tv_sec += later;
	return rc;
}

static void no_open_is_expected_at_first(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino = 7;

	(void)state;
	assert_false(write_opens_find(writers, 1, 0, &ino));
	assert_int_equal(ino, 7);
	write_opens_set_inode(writers, 1, 0, 9);
	write_opens_done(writers, 1, 0);
	assert_false(write_opens_find(writers, 1, 0, &ino));
	write_opens_free(writers);
	write_opens_free(NULL);
}

static void an_open_goes_through_its_steps(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino = 7;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_int_equal(ino, 0);
	write_opens_set_inode(writers, 1, 5, 99);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_int_equal(ino, 99);
	write_opens_done(writers, 1, 99);
	assert_false(write_opens_find(writers, 1, 5, &ino));
	write_opens_free(writers);
}

static void a_thread_is_done_with_the_inode_that_it_has_found(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_int_equal(write_opens_expect(writers, 2, 5), WRITE_OPENS_STALE);
	write_opens_set_inode(writers, 1, 5, 99);
	write_opens_set_inode(writers, 2, 5, 98);
	write_opens_done(writers, 1, 98);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	write_opens_done(writers, 1, 99);
	assert_false(write_opens_find(writers, 1, 5, &ino));
	assert_true(write_opens_find(writers, 2, 5, &ino));
	write_opens_free(writers);
}

static void only_that_thread_and_that_tensor_are_meant(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_int_equal(write_opens_expect(writers, 2, 6), WRITE_OPENS_STALE);
	assert_false(write_opens_find(writers, 2, 5, &ino));
	assert_false(write_opens_find(writers, 1, 6, &ino));
	write_opens_set_inode(writers, 2, 5, 98);
	write_opens_set_inode(writers, 1, 5, 99);
	write_opens_done(writers, 2, 99);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_int_equal(ino, 99);
	assert_true(write_opens_find(writers, 2, 6, &ino));
	assert_int_equal(ino, 0);
	write_opens_free(writers);
}

static void two_threads_may_write_the_same_tensor(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_int_equal(write_opens_expect(writers, 2, 5), WRITE_OPENS_STALE);
	write_opens_set_inode(writers, 1, 5, 11);
	write_opens_set_inode(writers, 2, 5, 12);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_int_equal(ino, 11);
	write_opens_done(writers, 1, 11);
	assert_true(write_opens_find(writers, 2, 5, &ino));
	assert_int_equal(ino, 12);
	write_opens_free(writers);
}

static void second_open_without_lookup_is_nameless(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_NAMELESS);
	assert_false(write_opens_find(writers, 1, 5, &ino));
	/* The next open() begins anew. */
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	write_opens_free(writers);
}

static void second_open_after_lookup_is_stale_again(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	write_opens_set_inode(writers, 1, 5, 99);
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_int_equal(ino, 0);
	write_opens_free(writers);
}

static void time_in_which_nothing_is_asked_is_not_counted(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	/* The daemon was stopped for a while. */
	later += 100;
	assert_int_equal(write_opens_expect(writers, 2, 5), WRITE_OPENS_STALE);
	assert_true(write_opens_find(writers, 1, 5, &ino));
	assert_true(write_opens_find(writers, 2, 5, &ino));
	write_opens_free(writers);
}

static void a_thread_that_was_killed_is_not_waited_for(void **state)
{
	struct write_opens *writers = write_opens_new();
	uint64_t ino;

	(void)state;
	assert_int_equal(write_opens_expect(writers, 1, 5), WRITE_OPENS_STALE);
	for (int second = 0; second < 8; second++) {
		later++;
		assert_false(write_opens_find(writers, 2, 5, &ino));
	}
	assert_true(write_opens_find(writers, 1, 5, &ino));
	for (int second = 0; second < 4; second++) {
		later++;
		assert_false(write_opens_find(writers, 2, 5, &ino));
	}
	assert_false(write_opens_find(writers, 1, 5, &ino));
	write_opens_free(writers);
}

struct opener {
	struct write_opens *writers;
	pid_t thread;
	bool wrong;
};

static void *open_often(void *argument)
{
	struct opener *opener = argument;
	uint64_t ino;

	for (uint32_t i = 0; i < 500; i++) {
		const uint32_t tensor = i % 3;

		if (write_opens_expect(opener->writers, opener->thread, tensor) !=
		    WRITE_OPENS_STALE)
			opener->wrong = true;
		write_opens_set_inode(opener->writers, opener->thread, tensor, 1000u + i);
		if (!write_opens_find(opener->writers, opener->thread, tensor, &ino) ||
		    ino != 1000u + i)
			opener->wrong = true;
		write_opens_done(opener->writers, opener->thread, ino);
	}
	return NULL;
}

static void many_may_open_at_once(void **state)
{
	struct write_opens *writers = write_opens_new();
	struct opener openers[4];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		openers[i] = (struct opener){ writers, i + 1, false };
		assert_int_equal(pthread_create(&threads[i], NULL, open_often, &openers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_false(openers[i].wrong);
	}
	write_opens_free(writers);
}

UNIT_MAIN(NULL, NULL)
