/* SPDX-License-Identifier: MIT */
/* test_options.c - fs/mount/options.c: every option, and messages about wrong ones. */
#include "fs/mount/options.h"
#include "fs/tensor/codec.h"
#include "tests/unit/temp_dir.h"

#include <limits.h>

/* Parse "organfs ARGUMENTS", separated by single blanks, with files of defaults. */
static int parse_with(struct options *options, const char *arguments, const char *system_file,
		      const char *users_file)
{
	char *copy = strdup(arguments), *rest = copy, *argument;
	char *argv[16] = { (char *)"organfs" };
	int argc = 1, rc;

	while ((argument = strsep(&rest, " ")))
		if (argument[0])
			argv[argc++] = argument;
	rc = options_parse(options, argc, argv, system_file, users_file);
	free(copy);
	return rc;
}

static int parse(struct options *options, const char *arguments)
{
	return parse_with(options, arguments, NULL, NULL);
}

static struct options good(const char *arguments)
{
	struct options options;

	if (parse(&options, arguments) != 0)
		fail_msg("refused: %s", arguments);
	return options;
}

/* Check that stderr has one line, with these words. */
static void assert_said(void **state, const char *arguments, const char *words)
{
	size_t size;
	char *said;

	fflush(stderr);
	said = read_whole(in_temp(state, "stderr").text, &size);
	if (!strstr(said, words))
		fail_msg("%s: \"%s\" is not in: %s", arguments, words, said);
	if (strchr(said, '\n') != said + size - 1)
		fail_msg("%s: not one line: %s", arguments, said);
	free(said);
	must(truncate(in_temp(state, "stderr").text, 0) == 0);
}

/* Check a refusal with one line on stderr, which has these words. */
static void assert_bad(void **state, const char *arguments, const char *words)
{
	struct options options;

	if (parse(&options, arguments) != -1)
		fail_msg("accepted: %s", arguments);
	options_release(&options);
	assert_said(state, arguments, words);
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
	assert_false(options.foreground || options.command != COMMAND_MOUNT);
	assert_false(options.read_only || options.no_assembly);
	assert_false(options.any_shape || options.debug || options.auto_unmount);
	assert_int_equal(options.allow, ALLOW_OWNER);
	assert_int_equal(options.uid, getuid());
	assert_int_equal(options.gid, getgid());
	assert_int_equal(options.umask, 022);
	assert_between(options.threads, 4, 1024);
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
	assert_true(options.any_shape);
	assert_int_equal(options.allow, ALLOW_OTHER);
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

static void named_layer_is_assembled_only_with_output(void **state)
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

	assert_int_equal(options.command, COMMAND_REPORT);
	assert_null(options.report_model);
	assert_null(options.mountpoint);
	assert_int_equal(options.n_models, 2);
	assert_string_equal(options.models[1], "b.tsv");
	options_release(&options);
	options = good("--report=m a.tsv");
	assert_int_equal(options.command, COMMAND_REPORT);
	assert_string_equal(options.report_model, "m");
	assert_int_equal(options.n_models, 1);
	options_release(&options);
	assert_bad(state, "--report", "--report needs a TABLE");
	options = good("--report a.tsv --json");
	assert_int_equal(options.command, COMMAND_REPORT);
	assert_true(options.json);
	options_release(&options);
	options = good("--list --json");
	assert_int_equal(options.command, COMMAND_LIST);
	assert_true(options.json);
	options_release(&options);
	assert_bad(state, "--list mnt", "--list takes no MODEL and no MOUNTPOINT");
	assert_bad(state, "--json m mnt", "--json goes with --report, --list");
	assert_bad(state, "--unpack --theta --json m d", "--json goes with --report");
	assert_bad(state, "--unpack m.gguf", "--unpack needs one MODEL and the DIR to write");
	assert_bad(state, "--unpack m.gguf n.gguf d", "--unpack needs one MODEL");
	assert_bad(state, "--npy m.gguf", "--npy needs one MODEL and a TENSOR");
	assert_bad(state, "--check", "--check needs a MODEL");
	assert_bad(state, "--check --pack m.gguf", "several commands are given");
	assert_bad(state, "--report --unpack m.gguf", "several commands are given");
	assert_bad(state, "--pack -o recipe=r m.gguf f",
		   "recipe= and a command exclude each other");
}

static void a_picture_is_of_one_model_and_leaves_nothing(void **state)
{
	struct options options = good("--picture m.gguf -o samples=512");

	assert_int_equal(options.command, COMMAND_PICTURE);
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
	assert_int_equal(options.command, COMMAND_SHOW);
	assert_true(options.read_only);
	assert_int_equal(options.n_models, 1);
	options_release(&options);
	assert_bad(state, "--theta m.gguf n.gguf", "--theta needs one MODEL");
	assert_bad(state, "--show", "--show needs one MODEL or MOUNTPOINT");
	assert_bad(state, "--show m.gguf mnt", "--show needs one MODEL or MOUNTPOINT");
	assert_bad(state, "--picture", "--picture needs one MODEL");
	assert_bad(state, "--picture m.gguf n.gguf o.gguf", "--picture needs one MODEL, or two");
	assert_bad(state, "--picture m.gguf -o model=n.gguf", "--picture needs one MODEL");
	assert_bad(state, "--picture m.gguf -o samples=1", "samples=1");
}

static void commands_without_a_mount_only_read_the_model(void **state)
{
	struct options options = good("--unpack -f --theta m.gguf d -o layer=/l");

	(void)state;
	assert_int_equal(options.command, COMMAND_UNPACK);
	assert_true(options.unpack_theta && options.foreground && options.read_only);
	assert_string_equal(options.mountpoint, "d");
	options_release(&options);
	options = good("--check --json m.gguf donor.gguf other");
	assert_int_equal(options.command, COMMAND_CHECK);
	assert_true(options.json && options.read_only);
	assert_int_equal(options.n_models, 3);
	options_release(&options);
	options = good("--theta --json m.gguf");
	assert_int_equal(options.command, COMMAND_THETA);
	assert_true(options.read_only && !options.unpack_theta);
	options_release(&options);
	options = good("--npy m.gguf output.weight");
	assert_int_equal(options.command, COMMAND_NPY);
	assert_true(options.read_only);
	assert_string_equal(options.mountpoint, "output.weight");
	options_release(&options);
}

static void quantise_takes_types_before_the_model(void **state)
{
	struct options options = good("--quantise -f - m.gguf out.gguf -o layer=/l");

	assert_int_equal(options.command, COMMAND_QUANTISE);
	assert_true(options.read_only && options.foreground);
	assert_string_equal(options.types, "-");
	assert_int_equal(options.n_models, 1);
	assert_string_equal(options.models[0], "m.gguf");
	assert_string_equal(options.mountpoint, "out.gguf");
	options_release(&options);
	options = good("types --quantise -- m.gguf -");
	assert_string_equal(options.types, "types");
	assert_string_equal(options.mountpoint, "-");
	options_release(&options);
	assert_null((options = good("--pack m.gguf out.gguf")).types);
	options_release(&options);
	assert_bad(state, "--quantise", "--quantise needs TYPES, one MODEL and the FILE to write");
	options = good("--quantise --imatrix=/i.gguf - m.gguf out.gguf");
	assert_string_equal(options.imatrix, "/i.gguf");
	options_release(&options);
	assert_bad(state, "--imatrix=i.gguf m mnt", "--imatrix goes with --quantise");
	assert_bad(state, "--quantise types m.gguf -", "unknown option \"-\"");
	assert_bad(state, "--quantise m.gguf out.gguf", "--quantise needs TYPES");
	assert_bad(state, "--quantise - a.gguf b.gguf out.gguf", "--quantise needs TYPES");
	assert_bad(state, "--quantise - m.gguf out.gguf -o model=b.gguf", "--quantise needs TYPES");
}

static void a_difference_is_of_two_models(void **state)
{
	struct options options = good("--diff a.gguf b.gguf -o samples=all");

	assert_int_equal(options.command, COMMAND_DIFF);
	assert_null(options.diff_form);
	assert_null(options.mountpoint);
	assert_int_equal(options.n_models, 2);
	assert_int_equal(options.samples, 0);
	options_release(&options);
	options = good("--diff=tsv a.gguf b.gguf");
	assert_int_equal(options.command, COMMAND_DIFF);
	assert_string_equal(options.diff_form, "tsv");
	options_release(&options);
	assert_bad(state, "--diff a.gguf", "--diff needs two MODELs");
	assert_bad(state, "--diff a.gguf b.gguf c.gguf", "--diff needs two MODELs");
	assert_bad(state, "--diff a.gguf b.gguf -o model=c.gguf", "--diff needs two MODELs");
	assert_bad(state, "--diff=html a.gguf b.gguf", "--diff=html: expected tsv");
	assert_bad(state, "--diff a.gguf b.gguf -o samples=1", "samples=1");
}

static void help_and_version_need_nothing_else(void **state)
{
	static const char *const helps[] = { "-h", "--help" };
	static const char *const versions[] = { "-V", "--version" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct options options = good(helps[i]);

		assert_int_equal(options.command, COMMAND_HELP);
		options_release(&options);
		options = good(versions[i]);
		assert_int_equal(options.command, COMMAND_VERSION);
		options_release(&options);
	}
	assert_non_null(strstr(options_help(), "Usage: organfs "));
}

static void the_help_names_every_option(void **state)
{
	static const char *const names[] = { "-f",
					     "--help",
					     "--version",
					     " ro ",
					     "output=",
					     "noassemble",
					     "shape=any",
					     "threads=",
					     "samples=",
					     "uid=",
					     "gid=",
					     "umask=",
					     "allow_other",
					     "layer=DIR",
					     "compress=",
					     "blocks=keep",
					     "views=",
					     "model=",
					     "--report",
					     "--picture",
					     "--show",
					     "--diff[=tsv]",
					     " -s ",
					     "-d,",
					     "debug",
					     "auto_unmount",
					     "allow_root",
					     "/etc/organfs.conf",
					     "~/.config/organfs.conf",
					     "rw,assemble" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_non_null(strstr(options_help(), names[i]));
}

static void the_help_fits_a_window(void **state)
{
	const char *line = options_help(), *end;
	size_t lines = 0;

	(void)state;
	for (; *line; line = end + 1, lines++) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_between(end - line, 1, 80);
	}
	assert_between(lines, 1, 40);
}

static void options_of_fstab_are_dropped(void **state)
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
	assert_bad(state, "-o model= m mnt", "model= needs a path");
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

static void unknown_option_is_refused(void **state)
{
	assert_bad(state, "-o nosuch m mnt", "unknown option \"nosuch\"");
	assert_bad(state, "-o ro,nosuch=7 m mnt", "unknown option \"nosuch=7\"");
	assert_bad(state, "--nosuch m mnt", "unknown option \"--nosuch\"");
	assert_bad(state, "-x m mnt", "unknown option \"-x\"");
	assert_bad(state, "-o xattr m mnt", "unknown option \"xattr\"");
	assert_bad(state, "-o allow_all m mnt", "unknown option \"allow_all\"");
}

static void bad_value_is_refused_also_before_a_good_one(void **state)
{
	assert_bad(state, "-o shape=some,shape=any m mnt", "shape=some: expected ");
	assert_bad(state, "-o threads=0,threads=2 m mnt", "expected a number from 1");
	assert_bad(state, "-o shape=some --help", "shape=some: expected ");
}

static void values_that_make_no_sense_are_refused(void **state)
{
	assert_bad(state, "-o shape=some m mnt", "shape=some: expected any or same");
	assert_bad(state, "-o threads=0 m mnt", "expected a number from 1");
	assert_bad(state, "-o threads=1025 m mnt", "expected a number from 1");
	assert_bad(state, "-o threads=-1 m mnt", "expected a number from 1");
	assert_bad(state, "-o threads=many m mnt", "threads=many");
	assert_bad(state, "-o blocks=some m mnt", "blocks=some: expected ");
	assert_bad(state, "-o merged=q8 m mnt", "merged=q8: expected ");
	assert_bad(state, "-o merged=no m mnt", "merged=no: expected keep or q8_0 or f16");
	assert_bad(state, "-o views=all m mnt", "views=all: expected listed or unlisted");
	assert_bad(state, "-o passthrough=off m mnt", "passthrough=off: expected no or yes");
	assert_bad(state, "-o snapshot=1 m mnt", "snapshot=1: expected no or yes");
	assert_bad(state, "-o samples=255 m mnt", "expected a number from 256");
	assert_bad(state, "-o samples=0 m mnt", "expected a number from 256");
	assert_bad(state, "-o samples=4294967296 m mnt", "expected a number from 256");
	assert_bad(state, "-o samples=every m mnt", "samples=every");
	assert_bad(state, "-o umask=1000 m mnt", "expected an octal number");
	assert_bad(state, "-o umask=9 m mnt", "umask=9");
	assert_bad(state, "-o uid=me m mnt", "uid=me");
	assert_bad(state, "-o gid= m mnt", "gid=");
	assert_bad(state, "-o output= m mnt", "output= needs a path");
	assert_bad(state, "-o layer= m mnt", "layer= needs a path");
	assert_bad(state, "-o header= m mnt", "header= needs a path");
	assert_bad(state, "-o recipe= m mnt", "recipe= needs a path");
	assert_bad(state, "-o pidfile= m mnt", "pidfile= needs a path");
	assert_bad(state, "--quantise --imatrix= t m f", "--imatrix= needs a path");
	assert_bad(state, "-o compress=0 m mnt", "expected a number from 1 to 22 or off");
	assert_bad(state, "-o compress=23 m mnt", "expected a number from 1 to 22 or off");
	assert_bad(state, "-o compress=on m mnt", "compress=on");
}

/* Trailing characters make a number invalid. */
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

static void common_fuse_options_are_dropped_or_refused(void **state)
{
	struct options options = good("-o big_writes,async_read,intr,use_ino,readdir_ino,"
				      "kernel_cache,clone_fd,ro m mnt");

	assert_true(options.read_only);
	options_release(&options);
	assert_bad(state, "-o fsname=x m mnt", "fsname: organfs sets this itself; leave it out");
	assert_bad(state, "-o subtype=x m mnt", "subtype: organfs sets");
	assert_bad(state, "-o blkdev m mnt", "blkdev: organfs sets");
	assert_bad(state, "-o direct_io m mnt", "direct_io: organfs sets");
	assert_bad(state, "-o auto_cache m mnt", "auto_cache: organfs sets");
	assert_bad(state, "-o attr_timeout=1 m mnt", "attr_timeout: organfs sets");
	assert_bad(state, "-o entry_timeout=1 m mnt", "entry_timeout: organfs sets");
	assert_bad(state, "-o max_read=4096 m mnt", "max_read: organfs sets");
}

static void debug_implies_foreground(void **state)
{
	static const char *const all[] = { "-d m mnt", "-o debug m mnt", "-f -d m mnt" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		struct options options = good(all[i]);

		assert_true(options.debug && options.foreground);
		options_release(&options);
	}
}

static void last_of_single_thread_and_threads_wins(void **state)
{
	struct options options = good("-s m mnt");

	(void)state;
	assert_int_equal(options.threads, 1);
	options_release(&options);
	options = good("-o threads=7 -s m mnt");
	assert_int_equal(options.threads, 1);
	options_release(&options);
	options = good("-s -o threads=7 m mnt");
	assert_int_equal(options.threads, 7);
	options_release(&options);
}

static void last_allow_option_wins(void **state)
{
	static const struct {
		const char *arguments;
		enum allow allow;
	} all[] = {
		{ "-o allow_other m mnt", ALLOW_OTHER },
		{ "-o allow_root m mnt", ALLOW_ROOT },
		{ "-o allow_root,allow_other m mnt", ALLOW_OTHER },
		{ "-o allow_other,allow_root m mnt", ALLOW_ROOT },
		{ "-o allow_other,noallow_other m mnt", ALLOW_OWNER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		struct options options = good(all[i].arguments);

		assert_int_equal(options.allow, all[i].allow);
		options_release(&options);
	}
}

/* Parse with these texts as files of defaults; NULL: no such file. */
static int parse_files(void **state, struct options *options, const char *arguments,
		       const char *system, const char *users)
{
	const struct path one = in_temp(state, "system.conf"), two = in_temp(state, "users.conf");

	unlink(one.text);
	unlink(two.text);
	if (system)
		write_text(one.text, system);
	if (users)
		write_text(two.text, users);
	return parse_with(options, arguments, one.text, two.text);
}

static struct options good_files(void **state, const char *arguments, const char *system,
				 const char *users)
{
	struct options options;

	if (parse_files(state, &options, arguments, system, users) != 0)
		fail_msg("refused: %s with %s and %s", arguments, system, users);
	return options;
}

static void the_command_line_goes_before_the_users_file_and_that_before_the_systems(void **state)
{
	struct options options =
		good_files(state, "m mnt", "ro\nsamples=1000\nthreads=3", "samples=2000\n");

	assert_true(options.read_only);
	assert_int_equal(options.samples, 2000);
	assert_int_equal(options.threads, 3);
	options_release(&options);
	options =
		good_files(state, "m mnt -o rw,samples=3000", "ro\nsamples=1000\n", "samples=2000");
	assert_false(options.read_only);
	assert_int_equal(options.samples, 3000);
	options_release(&options);
	options = good_files(state, "m mnt", "ro", "rw\n");
	assert_false(options.read_only);
	options_release(&options);
	options = good_files(state, "m mnt", NULL, "threads=9\n");
	assert_int_equal(options.threads, 9);
	options_release(&options);
	options = good_files(state, "-s m mnt", NULL, "threads=9\n");
	assert_int_equal(options.threads, 1);
	options_release(&options);
}

static void every_default_can_be_taken_back(void **state)
{
	static const char defaults[] =
		"ro\nnoassemble\nnoexec\nallow_other\nauto_unmount\nshape=any\nviews=listed\n"
		"merged=f16\nblocks=keep\ncompress=off\nsamples=all\numask=077\nx-mine=a,b\n"
		"passthrough=no\nsnapshot=no\n";
	struct options options = good_files(state, "m mnt", defaults, NULL);

	assert_true(options.read_only && options.no_assembly && options.no_execution);
	assert_true(options.any_shape && options.list_views && options.merged == ENCODE_F16);
	assert_true(options.keep_blocks && options.auto_unmount);
	assert_true(options.no_passthrough && options.no_snapshot);
	assert_int_equal(options.allow, ALLOW_OTHER);
	assert_int_equal(options.compress, 0);
	options_release(&options);
	options = good_files(state,
			     "m mnt -o rw,assemble,exec,noallow_other,noauto_unmount,shape=same,"
			     "views=unlisted,merged=keep,blocks=follow,compress=1,"
			     "passthrough=yes,snapshot=yes",
			     defaults, NULL);
	assert_false(options.read_only || options.no_assembly || options.no_execution);
	assert_false(options.any_shape || options.list_views || options.merged);
	assert_false(options.keep_blocks || options.auto_unmount);
	assert_false(options.no_passthrough || options.no_snapshot);
	assert_int_equal(options.allow, ALLOW_OWNER);
	assert_int_equal(options.compress, 1);
	options_release(&options);
	/* A layer is not assembled without a request. */
	options = good_files(state, "m mnt -o layer=/l", "assemble", NULL);
	assert_false(options.no_assembly);
	options_release(&options);
}

static void fresh_is_for_private_layers(void **state)
{
	struct options options = good("-o fresh m mnt");

	assert_true(options.fresh);
	assert_false(options.nonempty);
	options_release(&options);
	options = good("-o fresh,nofresh,nonempty,layer=l m mnt");
	assert_false(options.fresh);
	assert_true(options.nonempty);
	options_release(&options);
	assert_bad(state, "-o fresh,layer=l m mnt", "exclude each other");
	options = good_files(state, "-o layer=l,nofresh m mnt", "fresh", NULL);
	assert_false(options.fresh);
	options_release(&options);
}

static void a_bad_file_is_refused_with_its_line_where_a_model_is_opened(void **state)
{
	static const struct {
		const char *system, *users, *words;
	} bad[] = {
		{ "ro\nnosuch\n", NULL, "system.conf:2: unknown option \"nosuch\"" },
		{ NULL, "\n\nthreads=many\n", "users.conf:3: threads=many: expected a number" },
		{ "ro", "shape=odd\nro\n", "users.conf:1: shape=odd: expected any" },
		{ "threads=0", "threads=4", "system.conf:1: threads=0" },
		{ "ro,noexec", NULL, "system.conf:1: unknown option \"ro,noexec\"" },
		{ "remount", NULL, "system.conf:1: remount: the options of a mount" },
		{ NULL, "fsname=x", "users.conf:1: fsname: organfs sets this itself" },
		{ NULL, "output=/x", "users.conf:1: output cannot be a default" },
		{ "ro=1", NULL, "system.conf:1: unknown option \"ro=1\"" },
	};
	static const char *const others[] = { "--help", "--version", "--report x.tsv" };
	struct options options;

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		if (parse_files(state, &options, "m mnt", bad[i].system, bad[i].users) != -1)
			fail_msg("accepted: %s", bad[i].words);
		options_release(&options);
		assert_said(state, "a file", bad[i].words);
		/* Commands that open no model ignore the files. */
		for (size_t j = 0; j < ARRAY_LENGTH(others); j++) {
			options = good_files(state, others[j], bad[i].system, bad[i].users);
			options_release(&options);
		}
	}
	assert_int_equal(parse_files(state, &options, "--picture m", "nosuch", NULL), -1);
	options_release(&options);
	assert_said(state, "--picture", "system.conf:1: unknown option");
	/* Bad usage is reported before a bad file. */
	assert_int_equal(parse_files(state, &options, "m", "nosuch", NULL), -1);
	options_release(&options);
	assert_said(state, "m", "a MODEL and a MOUNTPOINT are needed");
}

UNIT_MAIN(temp_setup, temp_teardown)
