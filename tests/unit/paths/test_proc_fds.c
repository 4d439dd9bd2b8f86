/* SPDX-License-Identifier: MIT */
/* test_proc_fds.c - fs/paths/proc_fds.c: what this process, and a child, have open to write. */
#include "fs/paths/proc_fds.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_file(void **state, const char *name, int flags, struct stat *attr)
{
	const struct path path = in_temp(state, name);
	const int fd = open(path.text, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, attr), 0);
	return fd;
}

static void descriptors_that_write_are_counted(void **state)
{
	struct stat file, other;
	const int first = open_file(state, "a", O_WRONLY, &file);
	const int second = open_file(state, "a", O_RDWR, &file);
	const int copy = dup(first), reader = open_file(state, "a", O_RDONLY, &file);
	const int else_where = open_file(state, "b", O_WRONLY, &other);

	assert_true(copy >= 0);
	assert_int_equal(proc_fds_count_writers(getpid(), file.st_dev, file.st_ino), 3);
	assert_int_equal(proc_fds_count_writers(getpid(), other.st_dev, other.st_ino), 1);
	assert_int_equal(proc_fds_count_writers(getpid(), file.st_dev + 1, file.st_ino), 0);
	close(first);
	close(second);
	assert_int_equal(proc_fds_count_writers(getpid(), file.st_dev, file.st_ino), 1);
	close(copy);
	assert_int_equal(proc_fds_count_writers(getpid(), file.st_dev, file.st_ino), 0);
	close(reader);
	close(else_where);
}

static void each_process_has_its_own(void **state)
{
	struct stat file;
	const int fd = open_file(state, "c", O_WRONLY, &file);
	const pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	close(fd);
	assert_int_equal(proc_fds_count_writers(getpid(), file.st_dev, file.st_ino), 0);
	assert_int_equal(proc_fds_count_writers(child, file.st_dev, file.st_ino), 1);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(proc_fds_count_writers(child, file.st_dev, file.st_ino), -1);
	assert_int_equal(proc_fds_count_writers(0, file.st_dev, file.st_ino), -1);
}

UNIT_MAIN(temp_setup, temp_teardown)
