/* SPDX-License-Identifier: MIT */
/* test_fresh_directories.c - fs/tree/fresh_directories.c: processes that fill a new directory. */
#include "fs/tree/fresh_directories.h"
#include "tests/unit/unit.h"

#include <unistd.h>

static void names_are_hidden_from_the_process_alone(void **state)
{
	struct fresh_directories *fresh = fresh_directories_new();

	(void)state;
	assert_non_null(fresh);
	assert_false(fresh_directories_has(fresh, 7, "ffn_up.bin", getpid()));
	fresh_directories_add(fresh, 7, true, getpid());
	assert_true(fresh_directories_has(fresh, 7, "ffn_up.bin", getpid()));
	assert_false(fresh_directories_has(fresh, 8, "ffn_up.bin", getpid()));
	assert_false(fresh_directories_has(fresh, 7, "ffn_up.bin", getppid()));
	fresh_directories_add(fresh, 9, true, 0);
	assert_false(fresh_directories_has(fresh, 9, "ffn_up.bin", 0));
	fresh_directories_free(fresh);
}

static void existing_directory_hides_theta_files_only(void **state)
{
	struct fresh_directories *fresh = fresh_directories_new();

	(void)state;
	fresh_directories_add(fresh, 7, false, getpid());
	assert_true(fresh_directories_has(fresh, 7, "ffn_up.theta", getpid()));
	assert_false(fresh_directories_has(fresh, 7, "ffn_up.bin", getpid()));
	assert_false(fresh_directories_has(fresh, 7, "theta", getpid()));
	for (int again = 0; again < 16; again++)
		fresh_directories_add(fresh, 8, true, getpid());
	assert_true(fresh_directories_has(fresh, 7, "ffn_up.theta", getpid()));
	fresh_directories_free(fresh);
}

static void the_last_sixteen_are_kept(void **state)
{
	struct fresh_directories *fresh = fresh_directories_new();

	(void)state;
	for (uint64_t directory = 1; directory <= 17; directory++)
		fresh_directories_add(fresh, directory, true, getpid());
	assert_false(fresh_directories_has(fresh, 1, "ffn_up.bin", getpid()));
	for (uint64_t directory = 2; directory <= 17; directory++)
		assert_true(fresh_directories_has(fresh, directory, "ffn_up.bin", getpid()));
	fresh_directories_free(fresh);
}

UNIT_MAIN(NULL, NULL)
