/* SPDX-License-Identifier: MIT */
/* test_free_space.c - fs/storage/free_space.c: free space for a base that exists and for a missing
 * one. tests/mount/base/hang.sh shows that a hung disk does not block it. */
#include "fs/storage/backing.h"
#include "fs/storage/free_space.h"
#include "tests/unit/temp_dir.h"

static void free_space_is_that_of_the_filesystem(void **state)
{
	struct backing *base;
	struct free_space *space;
	struct statvfs room, is;

	write_file(in_temp(state, "file").text, "x", 1);
	base = backing_open(in_temp(state, "file").text, NULL);
	must(base && statvfs(in_temp(state, "file").text, &is) == 0);
	space = free_space_new(base, "/nowhere");
	backing_unref(base);
	assert_non_null(space);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(free_space_get(space, &room), 0);
		assert_int_equal(room.f_blocks, is.f_blocks);
		assert_int_equal(room.f_bsize, is.f_bsize);
	}
	free_space_free(space);
}

static void missing_file_gives_free_space_of_its_directory(void **state)
{
	struct backing *gone = backing_new_missing("/gone", 1);
	struct free_space *space;
	struct statvfs room, is;

	must(gone && statvfs(in_temp(state, ".").text, &is) == 0);
	space = free_space_new(gone, in_temp(state, ".").text);
	assert_non_null(space);
	assert_int_equal(free_space_get(space, &room), 0);
	assert_int_equal(room.f_blocks, is.f_blocks);
	free_space_free(space);
	space = free_space_new(gone, in_temp(state, "nothing").text);
	assert_non_null(space);
	assert_int_equal(free_space_get(space, &room), -ENOENT);
	free_space_free(space);
	backing_unref(gone);
}

UNIT_MAIN(temp_setup, temp_teardown)
