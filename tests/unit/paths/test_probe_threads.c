/* SPDX-License-Identifier: MIT */
/* test_probe_threads.c - fs/paths/probe_threads.c: one thread at a time at each place. */
#include "tests/unit/unit.h"

#include "fs/paths/probe_threads.h"

#include <pthread.h>
#include <stdatomic.h>

static struct timespec in_milliseconds(long milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += milliseconds * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

static void one_thread_probes_at_a_time(void **state)
{
	const struct timespec soon = in_milliseconds(20), past = { 0 };
	struct probe_threads *probes = probe_threads_new();

	(void)state;
	assert_non_null(probes);
	assert_true(probe_threads_begin(probes, "/a", &past));
	assert_true(probe_threads_begin(probes, "/b", &past));
	assert_false(probe_threads_begin(probes, "/a", &past));
	assert_false(probe_threads_begin(probes, "/b", &soon));
	probe_threads_end(probes, "/a");
	assert_true(probe_threads_begin(probes, "/a", &past));
	probe_threads_end(probes, "/a");
	probe_threads_end(probes, "/b");
	probe_threads_unref(probes);
}

struct race {
	struct probe_threads *probes;
	atomic_int inside, most, rounds;
};

static void *come_and_go(void *argument)
{
	struct race *race = argument;

	for (int i = 0; i < 200; i++) {
		const struct timespec until = in_milliseconds(60000);

		if (!probe_threads_begin(race->probes, "/a", &until))
			continue;
		if (atomic_fetch_add(&race->inside, 1) > 0)
			atomic_store(&race->most, 2);
		atomic_fetch_sub(&race->inside, 1);
		atomic_fetch_add(&race->rounds, 1);
		probe_threads_end(race->probes, "/a");
	}
	return NULL;
}

static void next_thread_enters_after_the_first_leaves(void **state)
{
	struct race race = { .probes = probe_threads_new() };
	pthread_t threads[4];

	(void)state;
	assert_non_null(race.probes);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &race), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&race.most), 0);
	assert_int_equal(atomic_load(&race.rounds), 200 * (int)ARRAY_LENGTH(threads));
	probe_threads_unref(race.probes);
}

UNIT_MAIN(NULL, NULL)
