/* SPDX-License-Identifier: MIT */
/* test_mount_child.c - fs/util/mount_child.c: answers, their descriptors, jobs that never end, and
 * directories of other filesystems. unmount/list.sh tests daemons that die. */
#include "fs/util/mount_child.h"
#include "fs/util/mountinfo.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The directory /tmp as a mount of this user. */
static struct mountinfo mount_of_tmp(void)
{
	static char options[64];
	struct stat stat;

	assert_int_equal(lstat("/tmp", &stat), 0);
	snprintf(options, sizeof(options), "user_id=%u,group_id=%u", geteuid(), getegid());
	return (struct mountinfo){ .point = "/tmp", .device = stat.st_dev, .options = options };
}

static int answer_twice(int socket, const void *context)
{
	const int rc = mount_child_send(socket, context, strlen(context), STDIN_FILENO);

	return rc ? rc : mount_child_send(socket, "again", 5, -1);
}

static int fail_with(int socket, const void *context)
{
	(void)socket;
	return *(const int *)context;
}

static int never_end(int socket, const void *context)
{
	(void)socket;
	(void)context;
	while (pause() < 0)
		;
	return 0;
}

static void answers_come_one_by_one(void **state)
{
	const struct mountinfo mount = mount_of_tmp();
	struct mount_child child;
	char text[16];
	int fd = -1;

	(void)state;
	mount_child_begin(&child, &mount, 60000, answer_twice, "first");
	assert_int_equal(mount_child_receive(&child, text, sizeof(text), &fd), 5);
	assert_memory_equal(text, "first", 5);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mount_child_receive(&child, text, 3, &fd), 3);
	assert_memory_equal(text, "aga", 3);
	assert_int_equal(fd, -1);
	assert_int_equal(mount_child_receive(&child, text, sizeof(text), NULL), -1);
	assert_int_equal(mount_child_end(&child), 0);
}

static int look_for_output(int socket, const void *context)
{
	(void)socket;
	(void)context;
	return fcntl(STDOUT_FILENO, F_GETFD) < 0 && fcntl(STDERR_FILENO, F_GETFD) < 0 ? 0 : EEXIST;
}

/* A child that the kernel cannot end would hold up the readers of a copy of that output. */
static void a_child_does_not_keep_the_output_of_its_parent(void **state)
{
	const struct mountinfo mount = mount_of_tmp();
	struct mount_child child;

	(void)state;
	mount_child_begin(&child, &mount, 60000, look_for_output, NULL);
	assert_int_equal(mount_child_end(&child), 0);
}

static void a_failure_is_the_result(void **state)
{
	static const int errors[] = { ENOTCONN, ECONNABORTED, EACCES };
	const struct mountinfo mount = mount_of_tmp();
	struct mount_child child;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		mount_child_begin(&child, &mount, 60000, fail_with, &errors[i]);
		assert_int_equal(mount_child_end(&child), errors[i]);
		assert_int_equal(mount_child_is_dead(errors[i]), i < 2);
	}
}

static void a_job_that_never_ends_is_killed(void **state)
{
	const struct mountinfo mount = mount_of_tmp();
	struct mount_child child;
	char text[16];

	(void)state;
	mount_child_begin(&child, &mount, 20, never_end, NULL);
	assert_int_equal(mount_child_receive(&child, text, sizeof(text), NULL), -1);
	assert_int_equal(mount_child_end(&child), ETIMEDOUT);
	assert_int_equal(waitpid(child.pid, NULL, 0), -1);
}

static void other_filesystem_gets_no_request(void **state)
{
	struct mountinfo mount = mount_of_tmp();
	struct mount_child child;

	(void)state;
	mount.device++;
	mount_child_begin(&child, &mount, 60000, never_end, NULL);
	assert_int_equal(mount_child_end(&child), ESTALE);
	mount.device--;
	mount.point = "/there/is/no such";
	mount_child_begin(&child, &mount, 60000, never_end, NULL);
	assert_int_equal(mount_child_end(&child), ENOENT);
	mount.point = "/tmp";
	mount.options = "rw";
	mount_child_begin(&child, &mount, 60000, never_end, NULL);
	assert_int_equal(mount_child_end(&child), EPERM);
}

UNIT_MAIN(NULL, NULL)
