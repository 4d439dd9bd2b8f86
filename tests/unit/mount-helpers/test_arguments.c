/* SPDX-License-Identifier: MIT */
/* test_arguments.c - mount-helpers/arguments.c: command lines of mount(8), umount(8) and users. */
#include "mount-helpers/arguments.h"
#include "tests/unit/unit.h"

#define ARGV(...) ((char **)(const char *[]){ "it" __VA_OPT__(, ) __VA_ARGS__, NULL })

static int count(char **argv)
{
	int n = 0;

	while (argv[n])
		n++;
	return n;
}

static enum action mount_line(struct mount_arguments *arguments, char **argv)
{
	return arguments_of_mount(count(argv), argv, arguments);
}

static enum action unmount_line(struct unmount_arguments *arguments, char **argv)
{
	return arguments_of_unmount(count(argv), argv, arguments);
}

static void name_of_the_program_selects_the_action(void **state)
{
	(void)state;
	assert_true(arguments_is_mount("mount.organfs"));
	assert_false(arguments_is_mount("umount.fuse.organfs"));
	assert_false(arguments_is_mount("organfs-umount"));
	assert_false(arguments_is_mount("mount"));
	assert_false(arguments_is_mount(""));
}

static void options_come_with_quotes_and_backslashes(void **state)
{
	static const struct {
		const char *given, *expected;
	} cases[] = {
		{ "ro", "ro" },
		{ "ro,samples=all", "ro,samples=all" },
		{ ",,ro,,", "ro" },
		{ "", NULL },
		{ "output=\"x, y.gguf\",ro", "output=x\\, y.gguf,ro" },
		{ "output=x\\,y,ro", "output=x\\,y,ro" },
		{ "output=\"a\\b\"", "output=a\\\\b" },
		{ "output=a\\\\b", "output=a\\\\b" },
		{ "output=a\\\"b,ro", "output=a\\\"b,ro" },
		{ "output=a\\", "output=a\\" },
		{ "output=\"a,b", "output=a\\,b" },
		{ "x\"\"y", "xy" },
		{ "nofail,ro,setuid=alice", "ro" },
		{ "nofailing,setuids=a", "nofailing,setuids=a" },
	};
	struct mount_arguments arguments;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(mount_line(&arguments, ARGV("m", "d", "-o", cases[i].given)),
				 ACTION_RUN);
		if (cases[i].expected)
			assert_string_equal(arguments.options, cases[i].expected);
		else
			assert_null(arguments.options);
		mount_arguments_release(&arguments);
	}
}

static void a_line_of_mount_is_parsed(void **state)
{
	char **argv = ARGV("-m", "d x", "-fsn", "-v", "-N", "/ns", "-t", "x.y", "-oro", "-o",
			   "nofail,setuid=a", "-o", "setuid=b");
	struct mount_arguments arguments;

	(void)state;
	assert_int_equal(mount_line(&arguments, argv), ACTION_RUN);
	assert_string_equal(arguments.source, "-m");
	assert_string_equal(arguments.directory, "d x");
	assert_string_equal(arguments.space, "/ns");
	assert_true(arguments.fake && arguments.verbose && arguments.optional);
	assert_string_equal(arguments.options, "ro");
	assert_string_equal(arguments.user, "b");
	mount_arguments_release(&arguments);
	/* A released struct leaves nothing for the next line. */
	assert_int_equal(mount_line(&arguments, ARGV("m", "d")), ACTION_RUN);
	assert_null(arguments.options);
	assert_null(arguments.user);
	assert_false(arguments.fake || arguments.verbose || arguments.optional);
	mount_arguments_release(&arguments);
}

static void wrong_line_of_mount_is_reported(void **state)
{
	const struct {
		char **argv;
		const char *wrong;
	} cases[] = {
		{ ARGV(), "" },
		{ ARGV("m"), "" },
		{ ARGV("m", "d", "e"), "" },
		{ ARGV("m", "d", "-x"), "-x is not known, or lacks its value" },
		{ ARGV("m", "d", "-o"), "-o is not known, or lacks its value" },
		{ ARGV("m", "d", "-osetuid="), "setuid= needs a user" },
		{ ARGV("m", "d", "-osetuid,ro"), "setuid= needs a user" },
	};
	struct mount_arguments arguments;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(mount_line(&arguments, cases[i].argv), ACTION_BAD);
		assert_string_equal(arguments.wrong, cases[i].wrong);
		mount_arguments_release(&arguments);
	}
}

static void options_want_memory(void **state)
{
	struct mount_arguments arguments;

	(void)state;
	needs_failing_allocations();
	/* One allocation is for the option, one for the user. */
	for (uint64_t k = 1; k <= 2; k++) {
		allocation_fails(k);
		assert_int_equal(mount_line(&arguments, ARGV("m", "d", "-osetuid=alice")),
				 ACTION_BAD);
		assert_true(allocation_failed());
		mount_arguments_release(&arguments);
	}
}

static void help_and_version_are_asked_for(void **state)
{
	struct mount_arguments of_mount;
	struct unmount_arguments of_unmount;

	(void)state;
	assert_int_equal(mount_line(&of_mount, ARGV("-h")), ACTION_HELP);
	assert_int_equal(mount_line(&of_mount, ARGV("--help")), ACTION_HELP);
	assert_int_equal(mount_line(&of_mount, ARGV("-V")), ACTION_VERSION);
	assert_int_equal(mount_line(&of_mount, ARGV("--version")), ACTION_VERSION);
	assert_int_equal(unmount_line(&of_unmount, ARGV("a", "-h")), ACTION_HELP);
	assert_int_equal(unmount_line(&of_unmount, ARGV("--help")), ACTION_HELP);
	assert_int_equal(unmount_line(&of_unmount, ARGV("-V")), ACTION_VERSION);
	assert_int_equal(unmount_line(&of_unmount, ARGV("--version")), ACTION_VERSION);
}

static void a_line_of_umount_is_parsed(void **state)
{
	struct unmount_arguments arguments;

	(void)state;
	/* These arguments come from umount(8). */
	assert_int_equal(unmount_line(&arguments, ARGV("/a", "-l", "-n", "-v", "-t", "fuse.organfs",
						       "-N", "/ns")),
			 ACTION_RUN);
	assert_int_equal(arguments.n, 1);
	assert_string_equal(arguments.points[0], "/a");
	assert_string_equal(arguments.flags, "-lnv");
	assert_string_equal(arguments.space, "/ns");
	assert_true(arguments.lazy && arguments.verbose);
	/* These arguments come from users. */
	assert_int_equal(unmount_line(&arguments, ARGV("a", "-rfrr", "b", "--", "-l")), ACTION_RUN);
	assert_int_equal(arguments.n, 3);
	assert_string_equal(arguments.points[0], "a");
	assert_string_equal(arguments.points[1], "b");
	assert_string_equal(arguments.points[2], "-l");
	assert_string_equal(arguments.flags, "-rf");
	assert_null(arguments.space);
	assert_false(arguments.lazy || arguments.verbose);
	assert_int_equal(unmount_line(&arguments, ARGV("-flnrv", "a")), ACTION_RUN);
	assert_string_equal(arguments.flags, "-flnrv");
}

static void all_mounts_stand_for_points(void **state)
{
	struct unmount_arguments arguments;

	(void)state;
	assert_int_equal(unmount_line(&arguments, ARGV("--keep", "a", "-v")), ACTION_RUN);
	assert_true(arguments.keep && !arguments.all);
	assert_string_equal(arguments.flags, "-v");
	assert_int_equal(unmount_line(&arguments, ARGV("--all", "--keep", "-l")), ACTION_RUN);
	assert_true(arguments.keep && arguments.all && arguments.lazy);
	assert_int_equal(arguments.n, 0);
	assert_int_equal(unmount_line(&arguments, ARGV("a")), ACTION_RUN);
	assert_false(arguments.keep || arguments.all);
}

static void a_wrong_line_of_umount_is_refused(void **state)
{
	struct unmount_arguments arguments;

	(void)state;
	assert_int_equal(unmount_line(&arguments, ARGV("--all", "a")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("--keep")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("--keep", "a", "-N", "/ns")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("--all", "-N", "/ns")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV()), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("-l")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("-x", "a")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("a", "-N")), ACTION_BAD);
	assert_int_equal(unmount_line(&arguments, ARGV("--", "a", "-x")), ACTION_RUN);
}

UNIT_MAIN(NULL, NULL)
