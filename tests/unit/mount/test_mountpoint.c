/* SPDX-License-Identifier: MIT */
/* test_mountpoint.c - fs/mount/mountpoint.c: directories to mount on, as far as no mount is
 * needed. */
#include "fs/mount/mountpoint.h"
#include "tests/unit/temp_dir.h"

static void an_empty_directory_is_free(void **state)
{
	const struct path point = in_temp(state, "point");
	struct error err = { 0 };

	must(mkdir(point.text, 0700) == 0);
	assert_int_equal(mountpoint_check(point.text, false, &err), 0);
	assert_int_equal(err.code, 0);
}

static void nonempty_directory_needs_its_option(void **state)
{
	static const char *const names[] = { "file", ".hidden", "..." };
	const struct path point = in_temp(state, "point");

	must(mkdir(point.text, 0700) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const struct path path = path_in(point.text, names[i]);
		struct error err = { 0 };

		write_text(path.text, "");
		assert_int_equal(mountpoint_check(point.text, false, &err), -ENOTEMPTY);
		assert_non_null(strstr(err.text, "-o nonempty"));
		err = (struct error){ 0 };
		assert_int_equal(mountpoint_check(point.text, true, &err), 0);
		assert_int_equal(err.code, 0);
		must(unlink(path.text) == 0);
	}
}

/* An unlistable directory is left to fusermount3, which may refuse it. */
static void unlistable_directory_is_not_refused(void **state)
{
	struct error err = { 0 };

	assert_int_equal(mountpoint_check(in_temp(state, "nowhere").text, false, &err), 0);
}

UNIT_MAIN(temp_setup, temp_teardown)
