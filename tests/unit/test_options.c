/* SPDX-License-Identifier: MIT */
/* test_options.c - fs/options.c: every option, and what is said about those that are wrong. */
#include "fs_help.h"
#include "fs/options.h"

/* Parse "organfs ARGUMENTS", which are separated by single blanks. */
static int parse(struct options *options, const char *arguments)
{
	char *copy = strdup(arguments), *rest = copy, *argument;
	char *argv[16] = { (char *)"organfs" };
	int argc = 1, rc;

	while ((argument = strsep(&rest, " ")))
		if (argument[0])
			argv[argc++] = argument;
	rc = options_parse(options, argc, argv);
	free(copy);
	return rc;
}

static struct options good(const char *arguments)
{
	struct options options;

	if (parse(&options, arguments) != 0)
		fail_msg("refused: %s", arguments);
	return options;
}

/* Refused, with one line on stderr that has these words in it. */
static void assert_bad(void **state, const char *arguments, const char *words)
{
	const struct path path = in_temp(state, "stderr");
	struct options options;
	size_t size;
	char *said;

	must(truncate(path.text, 0) == 0);
	if (parse(&options, arguments) != -1)
		fail_msg("accepted: %s", arguments);
	options_release(&options);
	fflush(stderr);
	said = read_whole(path.text, &size);
	if (!strstr(said, words))
		fail_msg("%s: \"%s\" is not in: %s", arguments, words, said);
	if (strchr(said, '\n') != said + size - 1)
		fail_msg("%s: not one line: %s", arguments, said);
	free(said);
}

static void a_model_and_a_mountpoint_are_enough(void **state)
{
	struct options options = good("m.gguf mnt");

	(void)state;
	assert_string_equal(options.models[0], "m.gguf");
	assert_string_equal(options.mountpoint, "mnt");
	assert_null(options.output);
	assert_null(options.layer);
	assert_int_equal(options.compress, 1);
	assert_false(options.foreground || options.help || options.version);
	assert_false(options.read_only || options.no_assembly);
	assert_false(options.any_shape || options.allow_other);
	assert_int_equal(options.uid, getuid());
	assert_int_equal(options.gid, getgid());
	assert_int_equal(options.umask, 022);
	assert_in_range(options.threads, 4, 1024);
	assert_int_equal(options.samples, 100000);
	options_release(&options);
	assert_null(options.models);
}

static void every_option_is_taken(void **state)
{
	struct options options = good("-f -o ro,noassemble,shape=any,allow_other,uid=12,gid=34,"
				      "umask=077,threads=7,samples=all,output=/x/y.gguf,"
				      "layer=/x/layer,compress=19 m mnt");

	(void)state;
	assert_true(options.foreground && options.read_only && options.no_assembly);
	assert_true(options.any_shape && options.allow_other);
	assert_int_equal(options.uid, 12);
	assert_int_equal(options.gid, 34);
	assert_int_equal(options.umask, 077);
	assert_int_equal(options.threads, 7);
	assert_int_equal(options.samples, 0);
	assert_string_equal(options.output, "/x/y.gguf");
	assert_string_equal(options.layer, "/x/layer");
	assert_int_equal(options.compress, 19);
	options_release(&options);
}

static void a_layer_is_kept_and_not_assembled_unless_it_is_said_where_to(void **state)
{
	struct options options = good("-o layer=l m mnt");
	char here[PATH_MAX];

	(void)state;
	must(getcwd(here, sizeof(here)));
	assert_true(options.no_assembly);
	assert_string_equal(options.layer, path_in(here, "l").text);
	options_release(&options);
	options = good("-o layer=/l,output=/o m mnt");
	assert_false(options.no_assembly);
	options_release(&options);
	options = good("-o layer=/l,output=/o,noassemble m mnt");
	assert_true(options.no_assembly);
	options_release(&options);
	options = good("-o compress=off m mnt");
	assert_int_equal(options.compress, 0);
	assert_false(options.no_assembly);
	options_release(&options);
}

static void options_may_stand_anywhere_and_more_than_once(void **state)
{
	struct options options =
		good("m -o umask=0 -oro mnt -f -o rw,uid=0 -o threads=9,samples=256");

	(void)state;
	assert_string_equal(options.models[0], "m");
	assert_string_equal(options.mountpoint, "mnt");
	assert_true(options.foreground);
	assert_false(options.read_only);
	assert_int_equal(options.umask, 0);
	assert_int_equal(options.uid, 0);
	assert_int_equal(options.threads, 9);
	assert_int_equal(options.samples, 256);
	options_release(&options);
}

static void a_relative_output_is_made_absolute(void **state)
{
	struct options options = good("-o output=first.gguf,output=dir/out.gguf m mnt");
	char *here = getcwd(NULL, 0);

	(void)state;
	assert_string_equal(options.output, path_in(here, "dir/out.gguf").text);
	free(here);
	options_release(&options);
}

static void a_report_needs_tables_alone(void **state)
{
	struct options options = good("--report a.tsv b.tsv");

	assert_true(options.report);
	assert_null(options.report_model);
	assert_null(options.mountpoint);
	assert_int_equal(options.n_models, 2);
	assert_string_equal(options.models[1], "b.tsv");
	options_release(&options);
	options = good("--report=m a.tsv");
	assert_true(options.report);
	assert_string_equal(options.report_model, "m");
	assert_int_equal(options.n_models, 1);
	options_release(&options);
	assert_bad(state, "--report", "--report needs a TABLE");
}

static void a_picture_is_of_one_model_and_leaves_nothing(void **state)
{
	struct options options = good("--picture m.gguf -o samples=512");

	assert_true(options.picture);
	assert_true(options.read_only);
	assert_null(options.mountpoint);
	assert_int_equal(options.n_models, 1);
	assert_int_equal(options.samples, 512);
	options_release(&options);
	options = good("--picture m.gguf n.gguf");
	assert_int_equal(options.n_models, 2);
	assert_null(options.mountpoint);
	options_release(&options);
	options = good("--show mnt");
	assert_true(options.show);
	assert_true(options.read_only);
	assert_int_equal(options.n_models, 1);
	options_release(&options);
	assert_bad(state, "--show", "--show needs one MODEL or MOUNTPOINT");
	assert_bad(state, "--show m.gguf mnt", "--show needs one MODEL or MOUNTPOINT");
	assert_false((options = good("m.gguf mnt")).picture);
	options_release(&options);
	assert_bad(state, "--picture", "--picture needs one MODEL");
	assert_bad(state, "--picture m.gguf n.gguf o.gguf", "--picture needs one MODEL, or two");
	assert_bad(state, "--picture m.gguf -o model=n.gguf", "--picture needs one MODEL");
	assert_bad(state, "--picture m.gguf -o samples=1", "samples=1");
}

static void help_and_version_need_nothing_else(void **state)
{
	static const char *const helps[] = { "-h", "--help" };
	static const char *const versions[] = { "-V", "--version" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct options options = good(helps[i]);

		assert_true(options.help);
		options_release(&options);
		options = good(versions[i]);
		assert_true(options.version);
		options_release(&options);
	}
	assert_non_null(strstr(options_help(), "Usage: organfs "));
}

static void the_help_names_every_option(void **state)
{
	static const char *const names[] = {
		"-f",	       "--help",    "--version", " ro ",	"output=", "noassemble",
		"shape=any",   "threads=",  "samples=",	 "uid=",	"gid=",	   "umask=",
		"allow_other", "layer=DIR", "compress=", "blocks=keep", "views=",  "model=",
		"--report",    "--picture", "--show"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_non_null(strstr(options_help(), names[i]));
}

static void the_help_is_one_screen(void **state)
{
	const char *line = options_help(), *end;
	size_t lines = 0;

	(void)state;
	for (; *line; line = end + 1, lines++) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_in_range(end - line, 1, 80);
	}
	assert_in_range(lines, 1, 24);
}

static void what_fstab_adds_is_dropped(void **state)
{
	struct options options =
		good("-o defaults,auto,noauto,nofail,_netdev,user,user=me,nouser,users,nousers,"
		     "owner,noowner,group,nogroup,comment=systemd.automount,dev,nodev,suid,nosuid,"
		     "exec,atime,noatime,diratime,nodiratime,relatime,norelatime,strictatime,"
		     "nostrictatime,lazytime,nolazytime,iversion,noiversion,sync,async,dirsync,"
		     "silent,loud,default_permissions,ro m mnt");

	(void)state;
	assert_true(options.read_only);
	assert_false(options.no_execution);
	assert_int_equal(options.n_models, 1);
	options_release(&options);
}

static void noexec_is_taken_and_the_last_word_counts(void **state)
{
	struct options options = good("-o exec,noexec m mnt");

	(void)state;
	assert_true(options.no_execution);
	options_release(&options);
	options = good("-o noexec,exec m mnt");
	assert_false(options.no_execution);
	options_release(&options);
}

static void a_mount_cannot_be_changed(void **state)
{
	assert_bad(state, "-o remount,ro m mnt", "remount: the options of a mount cannot be");
}

static void models_may_be_options(void **state)
{
	struct options options = good("-o model=b\\,c,ro,model=d\\040e m -o model=f mnt");

	assert_int_equal(options.n_models, 4);
	assert_string_equal(options.models[0], "m");
	assert_string_equal(options.models[1], "b,c");
	assert_string_equal(options.models[2], "d e");
	assert_string_equal(options.models[3], "f");
	assert_string_equal(options.mountpoint, "mnt");
	assert_true(options.read_only);
	options_release(&options);
	assert_bad(state, "-o model=x mnt", "a MODEL and a MOUNTPOINT are needed");
	assert_bad(state, "-o model= m mnt", "model= needs a file name");
}

static void options_of_others_that_begin_with_x_are_dropped(void **state)
{
	struct options options = good("-o x-systemd.automount,x-gvfs-show,X-mount.mkdir,ro m mnt");

	(void)state;
	assert_true(options.read_only);
	options_release(&options);
	options = good("-o x-systemd.requires=network.target m mnt");
	options_release(&options);
}

static void the_last_argument_is_the_mountpoint(void **state)
{
	struct options options = good("a.gguf b.gguf dir mnt");

	(void)state;
	assert_int_equal(options.n_models, 3);
	assert_string_equal(options.models[0], "a.gguf");
	assert_string_equal(options.models[2], "dir");
	assert_string_equal(options.mountpoint, "mnt");
	options_release(&options);
}

static void too_few_arguments_are_refused(void **state)
{
	assert_bad(state, "", "a MODEL and a MOUNTPOINT are needed");
	assert_bad(state, "m", "a MODEL and a MOUNTPOINT are needed");
	assert_bad(state, "-f", "a MODEL and a MOUNTPOINT are needed");
}

static void what_is_not_known_is_refused(void **state)
{
	assert_bad(state, "-o what m mnt", "unknown option \"what\"");
	assert_bad(state, "-o ro,what=7 m mnt", "unknown option \"what=7\"");
	assert_bad(state, "--what m mnt", "unknown option \"--what\"");
	assert_bad(state, "-x m mnt", "unknown option \"-x\"");
	assert_bad(state, "-o xattr m mnt", "unknown option \"xattr\"");
	assert_bad(state, "-o fsname=x m mnt", "unknown option \"fsname=x\"");
	assert_bad(state, "-o auto_unmount m mnt", "unknown option \"auto_unmount\"");
}

static void values_that_make_no_sense_are_refused(void **state)
{
	assert_bad(state, "-o shape=some m mnt", "shape=some is not known");
	assert_bad(state, "-o threads=0 m mnt", "threads= takes a number from 1");
	assert_bad(state, "-o threads=1025 m mnt", "threads= takes a number from 1");
	assert_bad(state, "-o threads=-1 m mnt", "threads= takes a number from 1");
	assert_bad(state, "-o threads=many m mnt", "threads=many");
	assert_bad(state, "-o blocks=some m mnt", "blocks=some is not known");
	assert_bad(state, "-o merged=q8 m mnt", "merged=q8 is not known");
	assert_bad(state, "-o views=all m mnt", "views=all is not known; there is views=listed");
	assert_bad(state, "-o samples=255 m mnt", "samples= takes a number from 256");
	assert_bad(state, "-o samples=0 m mnt", "samples= takes a number from 256");
	assert_bad(state, "-o samples=4294967296 m mnt", "samples= takes a number from 256");
	assert_bad(state, "-o samples=every m mnt", "samples=every");
	assert_bad(state, "-o umask=1000 m mnt", "umask= takes an octal number");
	assert_bad(state, "-o umask=9 m mnt", "umask=9");
	assert_bad(state, "-o uid=me m mnt", "uid=me");
	assert_bad(state, "-o gid= m mnt", "gid=");
	assert_bad(state, "-o output= m mnt", "output= needs a file name");
	assert_bad(state, "-o layer= m mnt", "layer= needs the name of a directory");
	assert_bad(state, "-o compress=0 m mnt", "compress= takes a number from 1 to 22");
	assert_bad(state, "-o compress=23 m mnt", "compress= takes a number from 1 to 22");
	assert_bad(state, "-o compress=on m mnt", "compress=on");
}

/* What is a number followed by something else is no number. */
static void numbers_are_read_to_their_end(void **state)
{
	assert_bad(state, "-o threads=4x m mnt", "threads=");
	assert_bad(state, "-o umask=0228 m mnt", "umask=");
	assert_bad(state, "-o uid=1000.5 m mnt", "uid=");
	assert_bad(state, "-o uid=-1 m mnt", "uid=");
	assert_bad(state, "-o uid=4294967296 m mnt", "uid=");
}

static void after_two_dashes_everything_is_an_argument(void **state)
{
	struct options options = good("-f -- -m.gguf mnt");

	(void)state;
	assert_string_equal(options.models[0], "-m.gguf");
	assert_string_equal(options.mountpoint, "mnt");
	options_release(&options);
}

static const struct CMUnitTest tests[] = {
	FS_TEST(a_model_and_a_mountpoint_are_enough),
	FS_TEST(every_option_is_taken),
	FS_TEST(a_layer_is_kept_and_not_assembled_unless_it_is_said_where_to),
	FS_TEST(options_may_stand_anywhere_and_more_than_once),
	FS_TEST(a_relative_output_is_made_absolute),
	FS_TEST(a_report_needs_tables_alone),
	FS_TEST(a_picture_is_of_one_model_and_leaves_nothing),
	FS_TEST(help_and_version_need_nothing_else),
	FS_TEST(the_help_names_every_option),
	FS_TEST(the_help_is_one_screen),
	FS_TEST(what_fstab_adds_is_dropped),
	FS_TEST(noexec_is_taken_and_the_last_word_counts),
	FS_TEST(a_mount_cannot_be_changed),
	FS_TEST(models_may_be_options),
	FS_TEST(options_of_others_that_begin_with_x_are_dropped),
	FS_TEST(the_last_argument_is_the_mountpoint),
	FS_TEST(too_few_arguments_are_refused),
	FS_TEST(what_is_not_known_is_refused),
	FS_TEST(values_that_make_no_sense_are_refused),
	FS_TEST(numbers_are_read_to_their_end),
	FS_TEST(after_two_dashes_everything_is_an_argument),
};

UNIT_MAIN(tests)
