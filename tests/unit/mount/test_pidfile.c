/* SPDX-License-Identifier: MIT */
/* test_pidfile.c - fs/mount/pidfile.c. */
#include "fs/mount/pidfile.h"
#include "gguf/error.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

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

static void file_of_something_else_is_refused_and_kept(void **state)
{
	static const char *const texts[] = { "GGUF", "12 34\n", "12345678901234567890\n" };
	const struct path path = in_temp(state, "model.gguf"), pipe = in_temp(state, "pipe");
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		write_text(path.text, texts[i]);
		assert_int_equal(pidfile_write(path.text, &err), -EEXIST);
		assert_non_null(strstr(err.text, path.text));
		assert_file(path.text, texts[i], strlen(texts[i]));
	}
	must(mkfifo(pipe.text, 0600) == 0);
	assert_int_equal(pidfile_write(pipe.text, &err), -EEXIST);
	must(access(pipe.text, F_OK) == 0);
}

UNIT_MAIN(temp_setup, temp_teardown)
