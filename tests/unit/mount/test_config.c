/* SPDX-License-Identifier: MIT */
/* test_config.c - fs/mount/config.c: files of defaults, valid and hostile ones. */
#include "fs/mount/config.h"
#include "tests/unit/temp_dir.h"

#include <sys/stat.h>

static void assert_options(const char *text, size_t n, const char *const *expected,
			   const unsigned *lines)
{
	struct error err = { 0 };
	struct config config;

	assert_int_equal(config_parse(text, strlen(text), &config, &err), 0);
	assert_int_equal(config.n, n);
	assert_int_equal(config.bad_line, 0);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(config.options[i].text, expected[i]);
		assert_int_equal(config.options[i].line, lines[i]);
	}
	config_release(&config);
	assert_int_equal(config.n, 0);
}

static void a_line_is_an_option(void **state)
{
	static const char *const two[] = { "ro", "samples=all" };
	static const char *const odd[] = { "samples=1000", "x-a=b, c=d#e", "uid=", "views=listed" };

	(void)state;
	assert_options("", 0, NULL, NULL);
	assert_options("\n\n \t\r\n# ro\n   # ro", 0, NULL, NULL);
	assert_options("ro\nsamples=all\n", 2, two, (const unsigned[]){ 1, 2 });
	assert_options("\r\n\tro \r\n# more\nsamples=all", 2, two, (const unsigned[]){ 2, 4 });
	assert_options("ro\t# never write\nsamples = all # slow", 2, two,
		       (const unsigned[]){ 1, 2 });
	assert_options("samples =1000\n\nx-a= b, c=d#e #f\nuid=\nviews=listed\n", 4, odd,
		       (const unsigned[]){ 1, 3, 4, 5 });
}

static void assert_bad(const char *text, size_t size, unsigned line, const char *words)
{
	struct error err = { 0 };
	struct config config;

	assert_refused(config_parse(text, size, &config, &err), &err, EINVAL, ERROR_NO_OFFSET);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is not in: %s", words, err.text);
	assert_int_equal(config.bad_line, line);
	config_release(&config);
}

#define assert_bad_text(text, line, words) assert_bad(text, strlen(text), line, words)

static void unknown_option_is_refused_with_its_line(void **state)
{
	char longest[CONFIG_LINE_MAX + 2];

	(void)state;
	assert_bad_text("ro\n=3\n", 2, "name of an option is missing");
	assert_bad_text("\n\n-o ro\n", 3, "without \"-\"");
	assert_bad_text("-f", 1, "without \"-\"");
	assert_bad_text("--help", 1, "without \"-\"");
	assert_bad_text("ro noexec", 1, "one option");
	assert_bad_text("samples all", 1, "one option");
	assert_bad_text("ro\x1b[2J", 1, "control character");
	assert_bad_text("\x7f", 1, "control character");
	assert_bad("ro\nx\0y\n", 7, 2, "control character");
	memset(longest, 'x', sizeof(longest));
	longest[CONFIG_LINE_MAX + 1] = '\0';
	assert_bad_text(longest, 1, "longer than 1024 bytes");
	longest[0] = '#';
	assert_bad_text(longest, 1, "longer than 1024 bytes");
}

static void option_of_one_mount_is_no_default(void **state)
{
	(void)state;
	assert_bad_text("output=/x.gguf", 1, "output cannot be a default");
	assert_bad_text("ro\n layer = /x", 2, "layer cannot be a default");
	assert_bad_text("model=/x", 1, "model cannot be a default");
	assert_bad_text("debug", 1, "debug cannot be a default");
}

/* Each allocation fails in turn. */
static void file_is_refused_without_memory(void **state)
{
	static const char text[] = "ro\nsamples=all\nuid=3\n";
	uint64_t k;
	int rc;

	(void)state;
	needs_failing_allocations();
	for (k = 1;; k++) {
		struct error err = { 0 };
		struct config config;

		allocation_fails(k);
		rc = config_parse(text, strlen(text), &config, &err);
		config_release(&config);
		if (!allocation_failed())
			break;
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	assert_int_equal(rc, 0);
	assert_true(k > 3);
}

static int read_file(const char *path, bool users_own, size_t *n, struct error *err)
{
	struct config config;
	const int rc = config_read(path, users_own, &config, err);

	*n = config.n;
	config_release(&config);
	return rc;
}

static void file_is_read_and_missing_file_is_no_error(void **state)
{
	const struct path path = in_temp(state, "organfs.conf");
	struct error err = { 0 };
	size_t n;

	assert_int_equal(read_file(path.text, true, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(read_file(path_in(path.text, "x").text, true, &n, &err), 0);
	write_text(path.text, "ro\nsamples=all\n");
	assert_int_equal(read_file(path.text, true, &n, &err), 0);
	assert_int_equal(n, 2);
	must(symlink(path.text, in_temp(state, "link").text) == 0);
	assert_int_equal(read_file(in_temp(state, "link").text, true, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(read_file(path_in(path.text, "x").text, true, &n, &err), 0);
	assert_int_equal(n, 0);
}

static void file_that_is_not_regular_is_refused_at_once(void **state)
{
	const struct path fifo = in_temp(state, "fifo");
	struct error err = { 0 };
	size_t n;

	must(mkfifo(fifo.text, 0600) == 0);
	assert_refused(read_file(fifo.text, true, &n, &err), &err, EINVAL, ERROR_NO_OFFSET);
	assert_refused(read_file(((struct temp *)*state)->dir, true, &n, &err), &err, EINVAL,
		       ERROR_NO_OFFSET);
	assert_refused(read_file("/dev/zero", false, &n, &err), &err, EINVAL, ERROR_NO_OFFSET);
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	const struct path path = in_temp(state, "organfs.conf");
	struct error err = { 0 };
	size_t n;

	write_text(path.text, "ro\n");
	must(truncate(path.text, (off_t)CONFIG_BYTES_MAX + 1) == 0);
	assert_refused(read_file(path.text, true, &n, &err), &err, EFBIG, ERROR_NO_OFFSET);
}

static void file_of_another_user_is_not_read(void **state)
{
	const struct path path = in_temp(state, "organfs.conf");
	struct error err = { 0 };
	size_t n;

	if (geteuid() != 0)
		skip();
	write_text(path.text, "ro\n");
	must(chown(path.text, 1, 1) == 0);
	assert_int_equal(read_file(path.text, true, &n, &err), 1);
	assert_int_equal(n, 0);
	assert_int_equal(read_file(path.text, false, &n, &err), 0);
	assert_int_equal(n, 1);
	/* The owner reads the file, then another user. */
	must(chmod(((struct temp *)*state)->dir, 0711) == 0 && seteuid(1) == 0);
	assert_int_equal(read_file(path.text, true, &n, &err), 0);
	assert_int_equal(n, 1);
	must(chmod(path.text, 0) == 0);
	assert_refused(read_file(path.text, true, &n, &err), &err, EACCES, ERROR_NO_OFFSET);
	must(seteuid(0) == 0 && seteuid(2) == 0);
	assert_int_equal(read_file(path.text, true, &n, &err), 1);
	/* A file that root gives to a user belongs to that user. */
	must(seteuid(0) == 0 && chown(path.text, 0, 0) == 0 && chmod(path.text, 0644) == 0);
	must(seteuid(2) == 0);
	assert_int_equal(read_file(path.text, true, &n, &err), 0);
	assert_int_equal(n, 1);
	/* This user may not enter the closed directory. */
	must(seteuid(0) == 0 && chmod(((struct temp *)*state)->dir, 0700) == 0 && seteuid(2) == 0);
	assert_int_equal(read_file(path.text, true, &n, &err), 1);
	must(seteuid(0) == 0);
}

static void assert_users_path(const char *configs, const char *home, const char *expected)
{
	char *path;

	must(configs ? setenv("XDG_CONFIG_HOME", configs, 1) == 0
		     : unsetenv("XDG_CONFIG_HOME") == 0);
	must(home ? setenv("HOME", home, 1) == 0 : unsetenv("HOME") == 0);
	path = config_users_path();
	if (expected)
		assert_string_equal(path, expected);
	else
		assert_null(path);
	free(path);
}

static void the_environment_says_where_the_users_file_is(void **state)
{
	(void)state;
	assert_users_path("/c", "/h", "/c/organfs.conf");
	assert_users_path(NULL, "/h", "/h/.config/organfs.conf");
	assert_users_path("", "/h", "/h/.config/organfs.conf");
	assert_users_path("c", "/h", "/h/.config/organfs.conf");
	assert_users_path(NULL, "h", NULL);
	assert_users_path(NULL, NULL, NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
