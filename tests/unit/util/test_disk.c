/* SPDX-License-Identifier: MIT */
/* test_disk.c - fs/util/disk.c. Linked with --wrap for answers of filesystems. */
#include "fs/util/disk.h"
#include "measure/lanes.h"
#include "tests/unit/temp_dir.h"

#include <linux/magic.h>
#include <sys/vfs.h>

int __real_fstat64(int fd, struct stat *stat);
int __wrap_fstat64(int fd, struct stat *stat);
int __real_fstatfs64(int fd, struct statfs *stat);
int __wrap_fstatfs64(int fd, struct statfs *stat);

/* The filesystem has shut down: fstat() returns EIO, as on XFS. */
static bool is_down;

int __wrap_fstat64(int fd, struct stat *stat)
{
	if (!is_down)
		return __real_fstat64(fd, stat);
	errno = EIO;
	return -1;
}

/* Type that statfs() returns for any file; 0: the real one. */
static long filesystem_type;

int __wrap_fstatfs64(int fd, struct statfs *stat)
{
	const int rc = __real_fstatfs64(fd, stat);

	if (filesystem_type)
		stat->f_type = (__typeof__(stat->f_type))filesystem_type;
	return rc;
}

static int open_directory(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(dir >= 0);
	return dir;
}

static void directory_sync_makes_changes_durable(void **state)
{
	const int dir = open_directory(state);

	fsync_fails(1);
	assert_int_equal(disk_sync_directory(dir), -EIO);
	assert_true(fsync_failed());
	assert_int_equal(disk_sync_directory(dir), 0);
	close(dir);
	assert_int_equal(disk_sync_directory(-1), -EBADF);
}

/* On a shut-down XFS fsync() of a directory succeeds. */
static void directory_sync_fails_on_shut_down_filesystem(void **state)
{
	const int dir = open_directory(state);

	is_down = true;
	assert_int_equal(disk_sync_directory(dir), -EIO);
	is_down = false;
	assert_int_equal(disk_sync_directory(dir), 0);
	close(dir);
}

static void disks_of_this_machine_and_memory_are_known(void **state)
{
	static const struct {
		long type;
		enum disk_place place;
	} known[] = {
		{ EXT4_SUPER_MAGIC, DISK_HERE },	   { XFS_SUPER_MAGIC, DISK_HERE },
		{ BTRFS_SUPER_MAGIC, DISK_HERE },	   { F2FS_SUPER_MAGIC, DISK_HERE },
		{ TMPFS_MAGIC, DISK_IN_MEMORY },	   { NFS_SUPER_MAGIC, DISK_ELSEWHERE },
		{ OVERLAYFS_SUPER_MAGIC, DISK_ELSEWHERE },
	};
	const int dir = open_directory(state);

	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
		filesystem_type = known[i].type;
		assert_int_equal(disk_place(dir), known[i].place);
	}
	assert_int_equal(disk_place(-1), DISK_ELSEWHERE);
	close(dir);
}

UNIT_MAIN(temp_setup, temp_teardown)
