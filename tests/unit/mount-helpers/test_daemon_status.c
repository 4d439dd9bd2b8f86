/* SPDX-License-Identifier: MIT */
/* test_daemon_status.c - mount-helpers/daemon_status.c: answers that name a status, and files that
 * are a status. unmount/user.sh sends requests to real mounts. */
#include "fs/mount/unmount_status.h"
#include "fs/util/mountinfo.h"
#include "mount-helpers/daemon_status.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void an_answer_is_parsed(void **state)
{
	char name[DAEMON_STATUS_NAME_MAX], longest[DAEMON_STATUS_NAME_MAX + 16] = "1 2 organfs-";
	unsigned pid, fd;

	(void)state;
	assert_true(daemon_status_parse("12 34 organfs-0f", &pid, &fd, name));
	assert_int_equal(pid, 12);
	assert_int_equal(fd, 34);
	assert_string_equal(name, "organfs-0f");
	assert_true(daemon_status_parse("999999999 0 organfs-", &pid, &fd, name));
	memset(longest + strlen(longest), 'x', DAEMON_STATUS_NAME_MAX - 1 - strlen("organfs-"));
	assert_true(daemon_status_parse(longest, &pid, &fd, name));
	assert_int_equal(strlen(name), DAEMON_STATUS_NAME_MAX - 1);
	longest[strlen(longest)] = 'x';
	assert_false(daemon_status_parse(longest, &pid, &fd, name));
}

static void malformed_answer_is_ignored(void **state)
{
	static const char *const answers[] = {
		"",
		" ",
		"1",
		"1 ",
		"1 2",
		"1 2 ",
		"1 2 organfs",
		"1 2 x",
		"1 2  organfs-x",
		"1  2 organfs-x",
		" 1 2 organfs-x",
		"-1 2 organfs-x",
		"1 -2 organfs-x",
		"+1 2 organfs-x",
		"a 2 organfs-x",
		"1 b organfs-x",
		"1000000000 2 organfs-x",
		"1 1000000000 organfs-x",
		"1\t2 organfs-x",
		"1 2\torganfs-x",
		"0x1 2 organfs-x",
	};
	char name[DAEMON_STATUS_NAME_MAX];
	unsigned pid, fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(answers); i++)
		assert_false(daemon_status_parse(answers[i], &pid, &fd, name));
}

static void the_status_of_a_daemon_is_one(void **state)
{
	struct unmount_status *status = unmount_status_new();
	char text[128], name[DAEMON_STATUS_NAME_MAX];
	unsigned pid, fd;

	(void)state;
	assert_true(unmount_status_text(status, text, sizeof(text)) > 0);
	assert_true(daemon_status_parse(text, &pid, &fd, name));
	assert_int_equal(pid, getpid());
	assert_true(daemon_status_check_file((int)fd, name, geteuid()));
	assert_false(daemon_status_check_file((int)fd, "organfs-x", geteuid()));
	name[strlen(name) - 1] = '\0';
	assert_false(daemon_status_check_file((int)fd, name, geteuid()));
	assert_false(daemon_status_check_file((int)fd, "", geteuid()));
	assert_true(daemon_status_parse(text, &pid, &fd, name));
	assert_false(daemon_status_check_file((int)fd, name, geteuid() + 1));
	unmount_status_free(status);
}

static void other_files_are_no_status(void **state)
{
	char path[] = "/tmp/organfs-unit.XXXXXX";
	const int memory = memfd_create("organfs-x", MFD_CLOEXEC), file = mkstemp(path);
	char link[64];
	int pipes[2], place;

	(void)state;
	assert_true(daemon_status_check_file(memory, "organfs-x", geteuid()));
	/* The link's name has that form, but its file is unreadable. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
	place = open(link, O_PATH | O_CLOEXEC);
	assert_true(place >= 0);
	assert_false(daemon_status_check_file(place, "organfs-x", geteuid()));
	assert_int_equal(pipe(pipes), 0);
	assert_false(daemon_status_check_file(pipes[0], "organfs-x", geteuid()));
	assert_true(file >= 0);
	assert_false(daemon_status_check_file(file, path, geteuid()));
	assert_false(daemon_status_check_file(-1, "organfs-x", geteuid()));
	unlink(path);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
	close(place);
	close(memory);
}

/* A file that is no mount's root gets no request: its device differs. */
static void path_that_is_no_mount_is_not_asked(void **state)
{
	const struct mountinfo wanted = { .point = "/proc" };
	struct mountinfo mount;
	struct daemon_status daemon;

	(void)state;
	if (!mountinfo_find(mountinfo_has_point, &wanted, &mount))
		skip();
	assert_false(daemon_status_open(&mount, &daemon));
	assert_int_equal(daemon.status, -1);
	daemon_status_close(&daemon);
	mount.point = "/there/is/no such";
	assert_false(daemon_status_open(&mount, &daemon));
	daemon_status_close(&daemon);
	mountinfo_release(&mount);
}

UNIT_MAIN(NULL, NULL)
