/* SPDX-License-Identifier: MIT */
/* test_landlock.c - fs/util/landlock.c: files that a process can reach. */
#include "fs/util/landlock.h"
#include "tests/unit/child.h"
#include "tests/unit/temp_dir.h"

static void begin(struct landlock *landlock, bool reads)
{
	if (!landlock_version())
		child_skip();
	child_must(landlock_init(landlock, reads) == 0);
}

static void enter(struct landlock *landlock)
{
	child_must(landlock_enter(landlock) == 0);
	landlock_release(landlock);
	child_must(landlock->fd == -1);
}

static int try(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : close(fd);
}

static bool make_places(void **state)
{
	must(mkdir(in_temp(state, "in").text, 0700) == 0);
	must(mkdir(in_temp(state, "in/below").text, 0700) == 0);
	must(mkdir(in_temp(state, "out").text, 0700) == 0);
	write_text(in_temp(state, "in/file").text, "in");
	write_text(in_temp(state, "out/file").text, "out");
	return true;
}

static void write_within(void *context)
{
	void **state = context;
	const int before = open(in_temp(state, "out/file").text, O_WRONLY | O_CLOEXEC);
	struct landlock landlock;

	begin(&landlock, false);
	child_must(landlock_allow(&landlock, in_temp(state, "in").text, true) == 0);
	enter(&landlock);
	child_must(try(in_temp(state, "out/file").text, O_RDONLY) == 0);
	child_must(try(in_temp(state, "out/file").text, O_WRONLY) == EACCES);
	child_must(try(in_temp(state, "out/new").text, O_WRONLY | O_CREAT) == EACCES);
	child_must(mkdir(in_temp(state, "out/new").text, 0700) < 0 && errno == EACCES);
	child_must(unlink(in_temp(state, "out/file").text) < 0 && errno == EACCES);
	child_must(symlink("x", in_temp(state, "out/new").text) < 0 && errno == EACCES);
	child_must(try(in_temp(state, "in/file").text, O_WRONLY | O_TRUNC) == 0);
	child_must(try(in_temp(state, "in/new").text, O_WRONLY | O_CREAT) == 0);
	child_must(symlink("x", in_temp(state, "in/link").text) == 0);
	child_must(mkdir(in_temp(state, "in/directory").text, 0700) == 0);
	child_must(rmdir(in_temp(state, "in/directory").text) == 0);
	child_must(unlink(in_temp(state, "in/link").text) == 0);
	/* Open files stay open. */
	child_must(write(before, "y", 1) == 1);
}

static void confined_writes_reach_allowed_directories_only(void **state)
{
	must(make_places(state));
	in_child(write_within, state);
}

static void move_within(void *context)
{
	void **state = context;
	struct landlock landlock;

	if (landlock_version() < 2)
		child_skip();
	begin(&landlock, false);
	child_must(landlock_allow(&landlock, in_temp(state, "in").text, true) == 0);
	enter(&landlock);
	child_must(rename(in_temp(state, "in/file").text, in_temp(state, "in/below/file").text) ==
		   0);
	child_must(rename(in_temp(state, "in/below/file").text, in_temp(state, "out/x").text) < 0);
	child_must(errno == EACCES || errno == EXDEV);
}

static void file_can_be_renamed_between_allowed_directories(void **state)
{
	must(make_places(state));
	in_child(move_within, state);
}

static void read_within(void *context)
{
	void **state = context;
	struct landlock landlock;

	begin(&landlock, true);
	child_must(landlock_allow(&landlock, in_temp(state, "in/file").text, false) == 0);
	child_must(landlock_allow(&landlock, in_temp(state, "absent").text, false) == -ENOENT);
	enter(&landlock);
	child_must(try(in_temp(state, "in/file").text, O_RDONLY) == 0);
	child_must(try(in_temp(state, "in/file").text, O_WRONLY) == EACCES);
	child_must(try(in_temp(state, "in").text, O_RDONLY | O_DIRECTORY) == EACCES);
	child_must(try(in_temp(state, "out/file").text, O_RDONLY) == EACCES);
	child_must(execl("/bin/true", "true", NULL) < 0 && errno == EACCES);
}

static void confined_reads_reach_allowed_paths_only(void **state)
{
	must(make_places(state));
	in_child(read_within, state);
}

UNIT_MAIN(temp_setup, temp_teardown)
