/* SPDX-License-Identifier: MIT */
/* test_readahead.c - fs/mount/readahead.c: the read-ahead is set, and a missing device does no
 * harm. */
#include "fs/mount/readahead.h"
#include "tests/unit/temp_dir.h"

#include <sys/sysmacros.h>

static void readahead_is_written_and_the_file_closed(void **state)
{
	const struct path path = in_temp(state, "read_ahead_kb");
	const int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char text[16] = "";
	int again;

	must(fd >= 0);
	assert_true(readahead_set(fd));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	again = open(path.text, O_RDONLY | O_CLOEXEC);
	must(again >= 0);
	assert_int_equal(read(again, text, sizeof(text) - 1), 5);
	must(close(again) == 0);
	assert_string_equal(text, "1024\n");
}

/* dprintf() of glibc 2.36 leaks its buffer if lseek() fails, as in sysfs after the unmount;
 * LeakSanitizer reports that. */
static void failing_file_leaks_nothing(void **state)
{
	const int fd = open(in_temp(state, "file").text, O_WRONLY | O_CREAT | O_EXCL, 0600);

	must(fd >= 0);
	must(close(fd) == 0);
	assert_false(readahead_set(fd));
	assert_false(readahead_set(-1));
}

static void a_device_that_is_not_there_has_no_file(void **state)
{
	(void)state;
	assert_int_equal(readahead_open(makedev(0, 0)), -1);
}

UNIT_MAIN(temp_setup, temp_teardown)
