/* SPDX-License-Identifier: MIT */
/* test_written_files.c - fs/assemble/written_files.c: files that were written are there until
 * somebody touches one. */
#include "fs/assemble/written_files.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>

/* A file of that name in the test's directory, noted. */
static struct path note(void **state, struct written_files *written, const char *name)
{
	const struct path path = in_temp(state, name);
	const int directory = open(in_temp(state, ".").text, O_RDONLY | O_DIRECTORY);
	const int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL, 0600);

	must(directory >= 0 && fd >= 0 && write(fd, "model", 5) == 5);
	written_files_add(written, directory, name, fd);
	close(fd);
	close(directory);
	return path;
}

static void none_are_not_there(void **state)
{
	struct written_files written = { 0 };

	(void)state;
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void all_have_to_be_there(void **state)
{
	struct written_files written = { 0 };
	const struct path first = note(state, &written, "first"),
			  second = note(state, &written, "second");

	assert_true(written_files_exist(&written));
	assert_int_equal(written.n, 2);
	assert_string_equal(written.files[0].path, first.text);
	must(rename(second.text, in_temp(state, "third").text) == 0);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
	assert_int_equal(written.n, 0);
}

/* The times alone tell of a change that keeps the size, and the inode's of one that sets them
 * back. */
static void a_change_shows(void **state)
{
	struct written_files written = { 0 };
	const struct path path = note(state, &written, "file");
	const struct timespec then[2] = { written.files[0].stat.st_mtim,
					  written.files[0].stat.st_mtim };
	int fd;

	usleep(20000);
	fd = open(path.text, O_WRONLY);
	must(fd >= 0 && pwrite(fd, "M", 1, 0) == 1 && futimens(fd, then) == 0);
	close(fd);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void a_link_in_its_place_is_another_file(void **state)
{
	struct written_files written = { 0 };
	const struct path path = note(state, &written, "file"), moved = in_temp(state, "moved");

	must(rename(path.text, moved.text) == 0 && symlink(moved.text, path.text) == 0);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void what_cannot_be_noted_is_not_there(void **state)
{
	struct written_files written = { 0 };

	note(state, &written, "file");
	assert_true(written_files_exist(&written));
	written_files_add(&written, -1, "other", -1);
	assert_true(written.unknown);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
	assert_false(written.unknown);
}

UNIT_MAIN(temp_setup, temp_teardown)
