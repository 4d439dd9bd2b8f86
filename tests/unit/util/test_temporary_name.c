/* SPDX-License-Identifier: MIT */
/* test_temporary_name.c - fs/util/temporary_name.c: the names of files on the way to a rename. */
#include "fs/util/temporary_name.h"
#include "tests/unit/unit.h"

static void names_that_programs_make_are_temporary(void **state)
{
	static const char *const names[] = {
		".x.bin.A1b2C3", /* rsync */
		".goutputstream-AB12CD",
		".general.name.swp",
		"x.bin~",
		"#x.bin#",
		"4913", /* Vim's probe of the directory */
		"sedAb12Cd",
		"x.bin.part",
		"x.bin.partial~",
		"x.bin.1a2b3c4d.partial",
		"x.bin.tmp",
		"x.bin.rej",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (!temporary_name(names[i]))
			fail_msg("%s is not temporary", names[i]);
}

static void names_that_users_give_are_not_temporary(void **state)
{
	static const char *const names[] = { "precious.gguf", "notes",	   "x.bin",
					     "sedimentary",   "sed.1234x", "v4913",
					     "newspaper",     "tmp",	   "x.partly",
					     "part.gguf" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (temporary_name(names[i]))
			fail_msg("%s is temporary", names[i]);
	/* A suffix alone is a dot file. */
	assert_true(temporary_name(".part"));
}

static void names_of_rsync_hold_the_final_name(void **state)
{
	(void)state;
	assert_int_equal(temporary_name_of_rsync(".manifest.json.A1b2C3"), 13);
	assert_int_equal(temporary_name_of_rsync(".x.A1b2C3"), 1);
	assert_int_equal(temporary_name_of_rsync("..A1b2C3"), 0);
	assert_int_equal(temporary_name_of_rsync("x.bin.A1b2C3"), 0);
	assert_int_equal(temporary_name_of_rsync(".x.A1b2C"), 0);
	assert_int_equal(temporary_name_of_rsync(""), 0);
}

static void names_of_ln_are_of_one_length(void **state)
{
	(void)state;
	assert_true(temporary_name_of_ln("CuA1b2C3"));
	assert_false(temporary_name_of_ln("CuA1b2C"));
	assert_false(temporary_name_of_ln("CuA1b2C3d"));
	assert_false(temporary_name_of_ln("Cu12.bin"));
	assert_false(temporary_name_of_ln("xuA1b2C3"));
}

UNIT_MAIN(NULL, NULL)
