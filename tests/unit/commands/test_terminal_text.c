/* SPDX-License-Identifier: MIT */
/* test_terminal_text.c - fs/commands/terminal_text.c: the terminal's abilities, read from the
 * environment, and text of any bytes fitted to its columns. */
#include "fs/commands/terminal_text.h"
#include "tests/unit/unit.h"

#include <locale.h>
#include <stdlib.h>

static void forget(void)
{
	static const char *const names[] = { "NO_COLOR",  "CLICOLOR_FORCE", "TERM",
					     "COLORTERM", "COLORFGBG",	    "COLUMNS" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		unsetenv(names[i]);
}

static void colours_are_for_terminals_that_have_them(void **state)
{
	(void)state;
	forget();
	assert_int_equal(terminal_text_detect(true, 80, true).colours, COLOURS_NONE);
	setenv("TERM", "dumb", 1);
	assert_int_equal(terminal_text_detect(true, 80, true).colours, COLOURS_NONE);
	setenv("TERM", "xterm", 1);
	assert_int_equal(terminal_text_detect(true, 80, true).colours, COLOURS_256);
	assert_int_equal(terminal_text_detect(false, 80, true).colours, COLOURS_NONE);
	setenv("CLICOLOR_FORCE", "0", 1);
	assert_int_equal(terminal_text_detect(false, 80, true).colours, COLOURS_NONE);
	setenv("CLICOLOR_FORCE", "1", 1);
	assert_int_equal(terminal_text_detect(false, 80, true).colours, COLOURS_256);
	setenv("COLORTERM", "24bit", 1);
	assert_int_equal(terminal_text_detect(false, 80, true).colours, COLOURS_FULL);
	setenv("NO_COLOR", "", 1);
	assert_int_equal(terminal_text_detect(true, 80, true).colours, COLOURS_FULL);
	setenv("NO_COLOR", "1", 1);
	assert_int_equal(terminal_text_detect(true, 80, true).colours, COLOURS_NONE);
	forget();
}

static void columns_come_from_environment_then_terminal(void **state)
{
	(void)state;
	forget();
	assert_int_equal(terminal_text_detect(true, 0, true).columns, 80);
	assert_int_equal(terminal_text_detect(true, 123, true).columns, 123);
	assert_int_equal(terminal_text_detect(true, 3, true).columns, TERMINAL_COLUMNS_MIN);
	setenv("COLUMNS", "66", 1);
	assert_int_equal(terminal_text_detect(true, 123, true).columns, 66);
	setenv("COLUMNS", "99999999999999999999", 1);
	assert_int_equal(terminal_text_detect(true, 123, true).columns, TERMINAL_COLUMNS_MAX);
	setenv("COLUMNS", "many", 1);
	assert_int_equal(terminal_text_detect(true, 123, true).columns, 123);
	forget();
}

static void background_is_dark_unless_environment_says_light(void **state)
{
	(void)state;
	forget();
	assert_true(terminal_text_detect(true, 80, true).dark);
	setenv("COLORFGBG", "15;0", 1);
	assert_true(terminal_text_detect(true, 80, true).dark);
	setenv("COLORFGBG", "0;default;15", 1);
	assert_false(terminal_text_detect(true, 80, true).dark);
	forget();
}

static void assert_put(bool utf8, size_t columns, const char *text, const char *expected)
{
	const struct terminal terminal = { .columns = 80, .utf8 = utf8 };
	char *got = NULL;
	size_t size, used;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(out);
	used = terminal_text_put(&terminal, out, text, columns);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, expected);
	assert_true(used <= columns);
	free(got);
}

static void hostile_text_moves_nothing(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_put(true, 80, "a\033[31m\r\n\x07z",
		   "a\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
	assert_put(true, 80,
		   "\xe2\x80\xae"
		   "abc\xff",
		   "\xef\xbf\xbd"
		   "abc\xef\xbf\xbd");
	assert_put(true, 80, "θ é 45°", "θ é 45°");
	assert_put(false, 80, "θ é 45°\033", "theta ? 45?");
	assert_put(true, 8, "0123456789", "01234...");
	assert_put(true, 10, "0123456789", "0123456789");
	assert_put(true, 2, "0123456789", "01");
	/* Wide letters take two columns. */
	assert_put(true, 6, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2...");
}

UNIT_MAIN(NULL, NULL)
