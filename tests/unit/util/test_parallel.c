/* SPDX-License-Identifier: MIT */
/* test_parallel.c - fs/util/parallel.c: every piece is done once, however the pool behaves. */
#include "fs/util/parallel.h"
#include "fs/util/pool.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#define PIECES 100

struct pieces {
	atomic_uint done[PIECES];
	atomic_uint all;
	size_t fails; /* number of the piece that fails */
	atomic_bool *busy;
};

static int count_piece(void *context, size_t i)
{
	struct pieces *pieces = context;

	atomic_fetch_add(&pieces->done[i], 1);
	atomic_fetch_add(&pieces->all, 1);
	return i == pieces->fails ? -EIO : 0;
}

static void every_piece_is_done_once(void **state)
{
	struct pool *pool = pool_new(3);

	(void)state;
	assert_non_null(pool);
	for (unsigned helpers = 0; helpers <= 5; helpers++) {
		struct pieces pieces = { .fails = SIZE_MAX };

		assert_int_equal(parallel_run(pool, helpers, PIECES, count_piece, &pieces), 0);
		assert_int_equal(pieces.all, PIECES);
		for (size_t i = 0; i < PIECES; i++)
			assert_int_equal(pieces.done[i], 1);
	}
	pool_free(pool);
}

static void without_pool_the_caller_does_every_piece(void **state)
{
	struct pieces pieces = { .fails = SIZE_MAX };

	(void)state;
	assert_int_equal(parallel_run(NULL, 3, PIECES, count_piece, &pieces), 0);
	assert_int_equal(pieces.all, PIECES);
	assert_int_equal(parallel_run(NULL, 3, 0, count_piece, &pieces), 0);
}

static void after_an_error_no_more_is_begun(void **state)
{
	struct pool *pool = pool_new(2);

	(void)state;
	assert_non_null(pool);
	for (unsigned helpers = 0; helpers <= 2; helpers++) {
		struct pieces pieces = { .fails = 5 };

		assert_int_equal(parallel_run(pool, helpers, PIECES, count_piece, &pieces), -EIO);
		assert_int_equal(pieces.done[5], 1);
		if (helpers == 0)
			assert_int_equal(pieces.all, 6);
	}
	pool_free(pool);
}

static void keep_busy(void *argument)
{
	while (atomic_load((atomic_bool *)argument))
		tick();
}

static int last_frees_the_pool(void *context, size_t i)
{
	struct pieces *pieces = context;

	if (i == PIECES - 1)
		atomic_store(pieces->busy, false);
	return count_piece(context, i);
}

/* If the code waited, this test would not end. */
static void a_pool_that_is_busy_is_not_waited_for(void **state)
{
	struct pool *pool = pool_new(1);
	atomic_bool busy = true;
	struct pieces pieces = { .fails = SIZE_MAX, .busy = &busy };

	(void)state;
	assert_non_null(pool);
	assert_int_equal(pool_submit(pool, keep_busy, &busy), 0);
	assert_int_equal(parallel_run(pool, 4, PIECES, last_frees_the_pool, &pieces), 0);
	assert_int_equal(pieces.all, PIECES);
	pool_free(pool);
}

static void without_memory_the_caller_does_every_piece(void **state)
{
	struct pool *pool;
	bool well = false;

	(void)state;
	needs_failing_allocations();
	pool = pool_new(2);
	assert_non_null(pool);
	for (uint64_t k = 1; !well; k++) {
		struct pieces pieces = { .fails = SIZE_MAX };

		allocation_fails(k);
		assert_int_equal(parallel_run(pool, 2, PIECES, count_piece, &pieces), 0);
		well = !allocation_failed();
		assert_int_equal(pieces.all, PIECES);
	}
	pool_free(pool);
}

UNIT_MAIN(NULL, NULL)
