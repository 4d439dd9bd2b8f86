/* SPDX-License-Identifier: MIT */
/* test_pidfile.c - fs/mount/pidfile.c */
#include "fs/mount/pidfile.h"
#include "gguf/error.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <stdio.h>

static void number_of_this_process_replaces_an_old_file(void **state)
{
	const struct path path = in_temp(state, "organfs.pid");
	struct error err = { 0 };
	char expected[16];
	const int n = snprintf(expected, sizeof(expected), "%d\n", (int)getpid());

	write_text(path.text, "123456789012\n");
	assert_int_equal(pidfile_write(path.text, &err), 0);
	assert_file(path.text, expected, (size_t)n);
}

static void link_is_refused_and_its_target_kept(void **state)
{
	const struct path path = in_temp(state, "organfs.pid"), target = in_temp(state, "target");
	struct error err = { 0 };

	write_text(target.text, "mine");
	must(symlink(target.text, path.text) == 0);
	assert_int_equal(pidfile_write(path.text, &err), -ELOOP);
	assert_non_null(strstr(err.text, path.text));
	assert_file(target.text, "mine", 4);
}

UNIT_MAIN(temp_setup, temp_teardown)
