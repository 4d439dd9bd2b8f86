/* SPDX-License-Identifier: MIT */
/* test_unmount_status.c - fs/mount/unmount_status.c: lines for a waiting process, and the end
 * mark. */
#include "fs/mount/unmount_status.h"
#include "tests/unit/temp_dir.h"

#include <sys/file.h>

/* Open the status like another process. */
static int find(const struct unmount_status *status)
{
	char text[128], path[64], link[128], expected[128], name[64];
	int pid, fd, file;
	ssize_t n;

	assert_between(unmount_status_text(status, text, sizeof(text)), 1, sizeof(text) - 1);
	assert_int_equal(sscanf(text, "%d %d %63s", &pid, &fd, name), 3);
	assert_int_equal(pid, getpid());
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
	n = readlink(path, link, sizeof(link) - 1);
	assert_true(n > 0);
	link[n] = '\0';
	assert_string_equal(link, expected);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	return file;
}

static void assert_reads(int fd, const char *expected)
{
	char text[1024];
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

#define LINE(state, done, total, ms)                                                             \
	state "                    " done "                    " total "                    " ms \
	      "\n"

static void status_is_locked_until_it_is_freed(void **state)
{
	struct unmount_status *status = unmount_status_new();
	const int fd = find(status);

	(void)state;
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	unmount_status_free(status);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
	close(fd);
}

static void only_its_owner_may_open_it(void **state)
{
	struct unmount_status *status = unmount_status_new();
	const int fd = find(status);
	struct stat stat;

	(void)state;
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0600);
	assert_int_equal(stat.st_nlink, 0);
	close(fd);
	unmount_status_free(status);
}

static void two_statuses_have_different_names(void **state)
{
	struct unmount_status *a = unmount_status_new(), *b = unmount_status_new();
	char of_a[128], of_b[128];

	(void)state;
	unmount_status_text(a, of_a, sizeof(of_a));
	unmount_status_text(b, of_b, sizeof(of_b));
	assert_string_not_equal(strstr(of_a, "organfs-"), strstr(of_b, "organfs-"));
	unmount_status_free(a);
	unmount_status_free(b);
}

static void lines_are_added_and_the_first_one_is_rewritten(void **state)
{
	struct unmount_status *status = unmount_status_new();
	const int fd = find(status);

	(void)state;
	assert_reads(fd, LINE("mounted   ", "0", "0", "0"));
	unmount_status_add(status, "keep", "/a/layer");
	unmount_status_progress(status, 5, 7, 9);
	assert_reads(fd, LINE("finishing ", "5", "7", "9") "keep\t/a/layer\n");
	unmount_status_add(status, "end", "0");
	assert_reads(fd, LINE("finishing ", "5", "7", "9") "keep\t/a/layer\nend\t0\n");
	unmount_status_progress(status, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	assert_reads(fd, "finishing  18446744073709551615 18446744073709551615 "
			 "18446744073709551615\nkeep\t/a/layer\nend\t0\n");
	close(fd);
	unmount_status_free(status);
}

static void a_text_is_one_line(void **state)
{
	struct unmount_status *status = unmount_status_new();
	const int fd = find(status);

	(void)state;
	unmount_status_add(status, "failed", "a\nend\t0\x1b[2J\x7f");
	unmount_status_add(status, "failed", "");
	assert_reads(fd, LINE("mounted   ", "0", "0", "0") "failed\ta?end?0?[2J?\nfailed\t\n");
	close(fd);
	unmount_status_free(status);
}

static void functions_accept_no_status(void **state)
{
	char text[8];

	(void)state;
	unmount_status_progress(NULL, 1, 2, 3);
	unmount_status_add(NULL, "end", "0");
	assert_int_equal(unmount_status_text(NULL, text, sizeof(text)), -ENODATA);
	unmount_status_free(NULL);
}

static void without_memory_there_is_no_status(void **state)
{
	(void)state;
	allocation_fails(1);
	assert_null(unmount_status_new());
	assert_true(allocation_failed());
}

UNIT_MAIN(temp_setup, temp_teardown)
