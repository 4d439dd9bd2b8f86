/* SPDX-License-Identifier: MIT */
/* test_file_use.c - fs/storage/file_use.c: one open file sees the announcements of another. */
#include "fs/storage/file_use.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int open_file(void **state)
{
	const int fd = open(in_temp(state, "file").text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0);
	return fd;
}

static void a_use_is_seen_by_others_until_the_file_is_closed(void **state)
{
	const int user = open_file(state), other = open_file(state);

	assert_int_equal(file_use_is_announced(other, FILE_USE_BASE | FILE_USE_DONOR), 0);
	file_use_announce(user, FILE_USE_DONOR);
	assert_int_equal(file_use_is_announced(other, FILE_USE_DONOR), 1);
	assert_int_equal(file_use_is_announced(other, FILE_USE_BASE | FILE_USE_DONOR), 1);
	assert_int_equal(file_use_is_announced(other, FILE_USE_BASE), 0);
	assert_int_equal(file_use_is_announced(user, FILE_USE_DONOR), 0);
	close(user);
	assert_int_equal(file_use_is_announced(other, FILE_USE_DONOR), 0);
	close(other);
}

static void any_number_of_mounts_may_use_a_file(void **state)
{
	const int user = open_file(state), another = open_file(state), other = open_file(state);

	file_use_announce(user, FILE_USE_BASE);
	file_use_announce(another, FILE_USE_BASE);
	close(user);
	assert_int_equal(file_use_is_announced(other, FILE_USE_BASE), 1);
	close(another);
	assert_int_equal(file_use_is_announced(other, FILE_USE_BASE), 0);
	close(other);
}

static void without_locks_nothing_is_known(void **state)
{
	(void)state;
	assert_int_equal(file_use_is_announced(-1, FILE_USE_BASE), -EBADF);
}

UNIT_MAIN(temp_setup, temp_teardown)
