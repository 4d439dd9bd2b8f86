/* SPDX-License-Identifier: MIT */
/* test_disk.c - fs/util/disk.c. Linked with --wrap for what filesystems say. */
#include "fs/util/disk.h"
#include "tests/unit/temp_dir.h"

int __real_fstat64(int fd, struct stat *stat);
int __wrap_fstat64(int fd, struct stat *stat);

/* Has it? Then fstat() says EIO, as XFS does. */
static bool is_down;

int __wrap_fstat64(int fd, struct stat *stat)
{
	if (!is_down)
		return __real_fstat64(fd, stat);
	errno = EIO;
	return -1;
}

static int open_directory(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(dir >= 0);
	return dir;
}

static void what_changed_in_a_directory_becomes_durable(void **state)
{
	const int dir = open_directory(state);

	fsync_fails(1);
	assert_int_equal(disk_sync_directory(dir), -EIO);
	assert_true(fsync_failed());
	assert_int_equal(disk_sync_directory(dir), 0);
	close(dir);
	assert_int_equal(disk_sync_directory(-1), -EBADF);
}

/* XFS, whose fsync() succeeds then. */
static void on_a_filesystem_that_has_shut_down_it_does_not(void **state)
{
	const int dir = open_directory(state);

	is_down = true;
	assert_int_equal(disk_sync_directory(dir), -EIO);
	is_down = false;
	assert_int_equal(disk_sync_directory(dir), 0);
	close(dir);
}

UNIT_MAIN(temp_setup, temp_teardown)
