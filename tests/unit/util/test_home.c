/* SPDX-License-Identifier: MIT */
/* test_home.c - fs/util/home.c: the user's directory. */
#include "fs/util/home.h"
#include "tests/unit/unit.h"

static void home_is_the_variable_if_it_is_absolute(void **state)
{
	char *path;

	(void)state;
	setenv("HOME", "/somewhere", 1);
	path = home_path("a/b");
	assert_string_equal(path, "/somewhere/a/b");
	free(path);
	setenv("HOME", "somewhere", 1);
	path = home_path("a");
	assert_non_null(path);
	assert_int_equal(path[0], '/');
	assert_string_not_equal(path, "/somewhere/a");
	free(path);
}

UNIT_MAIN(NULL, NULL)
