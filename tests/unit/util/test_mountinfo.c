/* SPDX-License-Identifier: MIT */
/* test_mountinfo.c - fs/util/mountinfo.c: lines with escapes and empty fields, invalid lines, and
 * the mounts of this process. */
#include "fs/util/mountinfo.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LINE(point, type, source)                                               \
	"36 35 0:98 / " point " rw,nosuid shared:1 master:2 - " type " " source \
	" rw,user_id=1000,group_id=4294967295,x_user_id=7"

static bool parse(char *text, const char *line, struct mountinfo *mount)
{
	snprintf(text, 256, "%s", line);
	return mountinfo_parse(text, mount);
}

static void valid_line_is_parsed(void **state)
{
	struct mountinfo mount;
	char text[256];

	(void)state;
	assert_true(parse(text, LINE("/a/b", "fuse.organfs", "/m.gguf") "\n", &mount));
	assert_int_equal(mount.id, 36);
	assert_true(mount.device == makedev(0, 98));
	assert_true(mount.is_organfs);
	assert_string_equal(mount.point, "/a/b");
	assert_string_equal(mount.options, "rw,user_id=1000,group_id=4294967295,x_user_id=7");
	assert_true(parse(text, "1 1 8:1 / / rw - ext4 /dev/sda rw", &mount));
	assert_false(mount.is_organfs);
	assert_string_equal(mount.point, "/");
	/* The source is empty. */
	assert_true(parse(text, LINE("/a", "fuse.organfs", ""), &mount));
	assert_int_equal(strncmp(mount.options, "rw,", 3), 0);
}

static void a_point_is_without_escapes(void **state)
{
	struct mountinfo mount;
	char text[256];

	(void)state;
	assert_true(parse(text, LINE("/a\\040\\134040\\011\\012b\\", "fuse.organfs", "x"), &mount));
	assert_string_equal(mount.point, "/a \\040\t\nb\\");
	assert_true(parse(text, LINE("/\\04", "fuse.organfs", "x"), &mount));
	assert_string_equal(mount.point, "/\\04");
	assert_true(parse(text, LINE("/\\303\\244\\089", "fuse.organfs", "x"), &mount));
	assert_string_equal(mount.point, "/\303\244\\089");
}

static void other_filesystem_type_is_not_ours(void **state)
{
	struct mountinfo mount;
	char text[256];

	(void)state;
	assert_true(parse(text, LINE("/a", "fuse.organfs2", "fuse.organfs"), &mount));
	assert_false(mount.is_organfs);
	assert_true(parse(text, LINE("/a", "fuse", "fuse.organfs"), &mount));
	assert_false(mount.is_organfs);
}

static void malformed_line_is_skipped(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"36",
		"36 35 0:98",
		" - ",
		"a b c:d / / rw - ext4 x rw",
		"36 35 0:98 / - ext4 x rw",
		"36 35 0:98 / /a rw ext4 x rw",
		"36 35 0:98 / /a rw - ext4",
		"36 35 0:98 / /a rw - ext4 x",
	};
	struct mountinfo mount;
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		assert_false(parse(text, lines[i], &mount));
		assert_null(mount.line);
	}
}

static void numbers_are_found_by_their_whole_names(void **state)
{
	struct mountinfo mount;
	unsigned number = 0;
	char text[256];

	(void)state;
	assert_true(parse(text, LINE("/a", "fuse.organfs", "x"), &mount));
	assert_true(mountinfo_option(&mount, "user_id", &number));
	assert_int_equal(number, 1000);
	assert_true(mountinfo_option(&mount, "group_id", &number));
	assert_true(number == UINT32_MAX);
	assert_true(mountinfo_option(&mount, "x_user_id", &number));
	assert_int_equal(number, 7);
	assert_false(mountinfo_option(&mount, "rw", &number));
	assert_false(mountinfo_option(&mount, "id", &number));
	assert_false(mountinfo_option(&mount, "user", &number));
	assert_int_equal(number, 7);
}

static void a_mount_is_of_the_user_in_its_options(void **state)
{
	struct mountinfo mount;
	char text[256];

	(void)state;
	assert_true(parse(text, LINE("/a", "fuse.organfs", "x"), &mount));
	assert_true(mountinfo_is_of(&mount, 1000));
	assert_false(mountinfo_is_of(&mount, 7));
	assert_false(mountinfo_is_of(&mount, 0));
	assert_true(parse(text, LINE("/a", "fuse.sshfs", "x"), &mount));
	assert_false(mountinfo_is_of(&mount, 1000));
	assert_true(parse(text, "1 1 0:1 / /a rw - fuse.organfs x rw", &mount));
	assert_false(mountinfo_is_of(&mount, 0));
}

static void the_mount_of_the_root_is_found(void **state)
{
	struct mountinfo wanted = { .point = "/" }, mount;

	(void)state;
	if (!mountinfo_find(mountinfo_has_point, &wanted, &mount))
		skip(); /* in a chroot */
	assert_string_equal(mount.point, "/");
	wanted.id = mount.id;
	mountinfo_release(&mount);
	assert_true(mountinfo_find(mountinfo_has_id, &wanted, &mount));
	assert_string_equal(mount.point, "/");
	wanted.device = mount.device;
	mountinfo_release(&mount);
	assert_true(mountinfo_find(mountinfo_has_device, &wanted, &mount));
	mountinfo_release(&mount);
	mountinfo_release(&mount);
	wanted.point = "/there/is/no such";
	assert_false(mountinfo_find(mountinfo_has_point, &wanted, &mount));
	assert_null(mount.line);
}

UNIT_MAIN(NULL, NULL)
