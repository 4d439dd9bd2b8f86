/* SPDX-License-Identifier: MIT */
/* test_computed_rows.c - fs/storage/computed_rows.c: bytes made row by row. */
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "tests/unit/poll_wait.h"
#include "tests/unit/tasks.h"
#include "tests/unit/zstd_file.h"

#include <pthread.h>

#define ROW   7u
#define COUNT 11u

struct counted {
	unsigned made[COUNT]; /* number of times that each row was made */
	int rc;		      /* error of the generator */
	bool released;
	const atomic_bool *stop; /* stop flag of the last call */
	atomic_bool hold, held;	 /* while hold is true the generator waits, and sets held */
};

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 37 + offset / ROW);
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	struct counted *counted = context;

	(void)flags;
	assert_true(first + n <= COUNT);
	while (atomic_load(&counted->hold)) {
		atomic_store(&counted->held, true);
		tick();
	}
	counted->stop = stop;
	for (size_t i = 0; i < n * ROW; i++)
		((uint8_t *)bytes)[i] = byte_at(first * ROW + i);
	for (size_t i = 0; i < n; i++)
		counted->made[first + i]++;
	return counted->rc;
}

static void release(void *context)
{
	((struct counted *)context)->released = true;
}

static struct backing *open_source(void **state)
{
	struct backing *of;

	write_file(in_temp(state, "file").text, "source", 6);
	of = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(of);
	return of;
}

static struct backing *rows_of(void **state, struct counted *counted)
{
	const struct computed_rows_source source = { COUNT, ROW, make, release, counted };
	struct backing *of = open_source(state), *rows;

	*counted = (struct counted){ 0 };
	rows = computed_rows_new(&source, of);
	assert_non_null(rows);
	assert_string_equal(backing_path(rows), backing_path(of));
	assert_int_equal(backing_stat(rows)->st_mtim.tv_nsec, backing_stat(of)->st_mtim.tv_nsec);
	backing_unref(of);
	return rows;
}

static void assert_bytes(const uint8_t *bytes, uint64_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], byte_at(from + i));
}

static void every_range_can_be_read(void **state)
{
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[ROW * COUNT];

	assert_int_equal(backing_size(rows), sizeof(bytes));
	assert_true(backing_is_computed(rows));
	assert_false(backing_is_plain(rows));
	for (size_t from = 0; from <= sizeof(bytes); from++) {
		for (size_t n = 0; n <= sizeof(bytes) - from; n++) {
			assert_int_equal(backing_read(rows, bytes, n, from), 0);
			assert_bytes(bytes, from, n);
			assert_int_equal(backing_read_with(rows, BACKING_SPANS | BACKING_UNCHECKED,
							   bytes, n, from),
					 0);
			assert_bytes(bytes, from, n);
		}
	}
	backing_unref(rows);
	assert_true(counted.released);
}

static void read_computes_touched_rows_only(void **state)
{
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[ROW * COUNT];

	assert_int_equal(backing_read(rows, bytes, ROW + 2, 3 * ROW - 1), 0);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(counted.made[i], i >= 2 && i <= 4);
	backing_unref(rows);
}

static void neighbouring_reads_share_a_row(void **state)
{
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[4];

	for (size_t from = 0; from + sizeof(bytes) <= ROW * COUNT; from += sizeof(bytes))
		assert_int_equal(backing_read(rows, bytes, sizeof(bytes), from), 0);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(counted.made[i], 1);
	backing_unref(rows);
}

static void read_past_the_end_fails(void **state)
{
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[2];

	assert_int_equal(backing_read(rows, bytes, 2, ROW * COUNT - 1), -EIO);
	assert_int_equal(backing_read(rows, bytes, 1, ROW * COUNT), -EIO);
	assert_int_equal(backing_read(rows, bytes, 2, UINT64_MAX), -EIO);
	backing_unref(rows);
}

static void a_row_that_could_not_be_made_is_made_again(void **state)
{
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[ROW];

	counted.rc = -EIO;
	assert_int_equal(backing_read(rows, bytes, 2, 1), -EIO);
	assert_int_equal(backing_read(rows, bytes, ROW, 0), -EIO);
	counted.rc = 0;
	assert_int_equal(backing_read(rows, bytes, 2, 1), 0);
	assert_bytes(bytes, 1, 2);
	backing_unref(rows);
}

static void interruptible_read_passes_its_flag_to_the_generator(void **state)
{
	const atomic_bool stop = false;
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	uint8_t bytes[ROW];

	assert_int_equal(backing_read_cancellable(rows, 0, bytes, ROW, 0, &stop), 0);
	assert_ptr_equal(counted.stop, &stop);
	assert_int_equal(backing_read(rows, bytes, ROW, 0), 0);
	assert_null(counted.stop);
	assert_int_equal(backing_read_cancellable(rows, 0, bytes, 2, ROW, &stop), 0);
	assert_ptr_equal(counted.stop, &stop);
	backing_unref(rows);
}

static void wait_briefly(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	(void)condition;
	pthread_mutex_unlock(lock);
	tick();
	pthread_mutex_lock(lock);
}

static void *read_two_bytes(void *rows)
{
	uint8_t bytes[2];
	const int rc = backing_read(rows, bytes, sizeof(bytes), 1);

	return rc == 0 && bytes[0] == byte_at(1) && bytes[1] == byte_at(2) ? rows : NULL;
}

static void a_reader_is_not_stuck_behind_another_one_of_the_row(void **state)
{
	const atomic_bool stop = true;
	struct counted counted;
	struct backing *rows = rows_of(state, &counted);
	pthread_t threads[2];
	uint8_t bytes[2];
	void *right;

	poll_wait = wait_briefly;
	atomic_store(&counted.hold, true);
	assert_int_equal(pthread_create(&threads[0], NULL, read_two_bytes, rows), 0);
	while (!atomic_load(&counted.held))
		tick();
	assert_int_equal(backing_read_cancellable(rows, 0, bytes, 2, 3, &stop), -EINTR);
	/* The other row of the same cache place waits too; an uninterrupted reader gets its row. */
	assert_int_equal(backing_read_cancellable(rows, 0, bytes, 2, 4 * ROW, &stop), -EINTR);
	assert_int_equal(pthread_create(&threads[1], NULL, read_two_bytes, rows), 0);
	atomic_store(&counted.hold, false);
	for (unsigned i = 0; i < ARRAY_LENGTH(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &right), 0);
		assert_ptr_equal(right, rows);
	}
	assert_int_equal(counted.made[0], 1);
	backing_unref(rows);
}

static void more_bytes_than_a_file_may_have_are_refused(void **state)
{
	struct counted counted = { .released = false };
	struct computed_rows_source source = { INT64_MAX / 8 + 1, 8, make, release, &counted };
	struct backing *of = open_source(state), *rows;

	assert_null(computed_rows_new(&source, of));
	assert_true(counted.released);
	source.n = INT64_MAX / 8;
	rows = computed_rows_new(&source, of);
	assert_non_null(rows);
	backing_unref(rows);
	backing_unref(of);
}

static void without_memory_nothing_is_lost(void **state)
{
	struct backing *of = open_source(state);
	struct counted counted;
	const struct computed_rows_source source = { COUNT, ROW, make, release, &counted };
	uint8_t byte;

	for (unsigned k = 1;; k++) {
		struct backing *rows;
		int rc = -ENOMEM;

		counted = (struct counted){ 0 };
		allocation_fails(k);
		rows = computed_rows_new(&source, of);
		if (rows)
			rc = backing_read(rows, &byte, 1, 1);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			backing_unref(rows);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		backing_unref(rows);
		assert_true(counted.released);
	}
	backing_unref(of);
}

UNIT_MAIN(temp_setup, temp_teardown)
