/* SPDX-License-Identifier: MIT */
/* test_fresh_directories.c - fs/tree/fresh_directories.c: who made a directory. */
#include "fs/tree/fresh_directories.h"
#include "tests/unit/unit.h"

#include <unistd.h>

static void the_process_that_made_a_directory_is_known(void **state)
{
	struct fresh_directories *fresh = fresh_directories_new();

	(void)state;
	assert_non_null(fresh);
	assert_false(fresh_directories_has(fresh, 7, getpid()));
	fresh_directories_add(fresh, 7, getpid());
	assert_true(fresh_directories_has(fresh, 7, getpid()));
	assert_false(fresh_directories_has(fresh, 8, getpid()));
	assert_false(fresh_directories_has(fresh, 7, getppid()));
	fresh_directories_add(fresh, 9, 0);
	assert_false(fresh_directories_has(fresh, 9, 0));
	fresh_directories_free(fresh);
}

static void the_last_sixteen_are_kept(void **state)
{
	struct fresh_directories *fresh = fresh_directories_new();

	(void)state;
	for (uint64_t directory = 1; directory <= 17; directory++)
		fresh_directories_add(fresh, directory, getpid());
	assert_false(fresh_directories_has(fresh, 1, getpid()));
	for (uint64_t directory = 2; directory <= 17; directory++)
		assert_true(fresh_directories_has(fresh, directory, getpid()));
	fresh_directories_free(fresh);
}

UNIT_MAIN(NULL, NULL)
