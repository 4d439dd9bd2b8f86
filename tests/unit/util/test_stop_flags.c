/* SPDX-License-Identifier: MIT */
/* test_stop_flags.c - fs/util/stop_flags.c: flags set by one event. */
#include "fs/util/stop_flags.h"
#include "tests/unit/unit.h"

#include <pthread.h>

#define FLAGS 5u

static void set_stops_all_running_jobs(void **state)
{
	struct stop_flags *flags = stop_flags_new();
	struct stop_flag entries[FLAGS];
	atomic_bool stops[FLAGS] = { 0 };

	(void)state;
	assert_non_null(flags);
	for (unsigned i = 0; i < FLAGS; i++)
		stop_flags_add(flags, &entries[i], &stops[i]);
	/* Remove the last flag, the first one, and one in the middle. */
	stop_flags_remove(flags, &entries[FLAGS - 1]);
	stop_flags_remove(flags, &entries[0]);
	stop_flags_remove(flags, &entries[2]);
	for (unsigned i = 0; i < FLAGS; i++)
		assert_false(atomic_load(&stops[i]));
	stop_flags_set(flags);
	for (unsigned i = 0; i < FLAGS; i++)
		assert_int_equal(atomic_load(&stops[i]), i == 1 || i == 3);
	stop_flags_remove(flags, &entries[1]);
	stop_flags_remove(flags, &entries[3]);
	stop_flags_free(flags);
	stop_flags_free(NULL);
}

static void job_added_after_set_is_stopped_at_once(void **state)
{
	struct stop_flags *flags = stop_flags_new();
	struct stop_flag entry;
	atomic_bool stop = false;

	(void)state;
	assert_non_null(flags);
	stop_flags_set(flags);
	stop_flags_add(flags, &entry, &stop);
	assert_true(atomic_load(&stop));
	stop_flags_remove(flags, &entry);
	stop_flags_free(flags);
}

/* Run jobs, the last of which waits for its flag. */
static void *run_jobs(void *context)
{
	struct stop_flags *flags = context;

	for (unsigned i = 0; i < 1000; i++) {
		struct stop_flag entry;
		atomic_bool stop = false;

		stop_flags_add(flags, &entry, &stop);
		while (i == 999 && !atomic_load(&stop))
			continue;
		stop_flags_remove(flags, &entry);
	}
	return NULL;
}

static void jobs_of_many_threads_end(void **state)
{
	struct stop_flags *flags = stop_flags_new();
	pthread_t threads[4];

	(void)state;
	assert_non_null(flags);
	for (unsigned i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_jobs, flags), 0);
	stop_flags_set(flags);
	for (unsigned i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	stop_flags_free(flags);
}

static void without_memory_there_are_no_flags(void **state)
{
	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(stop_flags_new());
	assert_true(allocation_failed());
}

UNIT_MAIN(NULL, NULL)
