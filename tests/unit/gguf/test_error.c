/* SPDX-License-Identifier: MIT */
/* test_error.c - gguf/error.c: one line of text for any input. */
#include "tests/unit/unit.h"

static void a_failure_keeps_code_place_and_sentence(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_refused(error_set(&err, EBADMSG, 276, "%d axes", 5), &err, EBADMSG, 276);
	assert_string_equal(err.text, "5 axes");
}

static void a_second_failure_replaces_the_first(void **state)
{
	struct error err = { 0 };

	(void)state;
	error_set(&err, EBADMSG, 1, "a long first sentence");
	assert_refused(error_set(&err, EIO, 2, "short"), &err, EIO, 2);
	assert_string_equal(err.text, "short");
}

static void error_may_be_null(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, ENOMEM, ERROR_NO_OFFSET, "out of memory"), -ENOMEM);
}

static void errno_has_a_sentence_without_a_place(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_refused(error_errno(&err, EIO), &err, EIO, ERROR_NO_OFFSET);
	assert_string_equal(err.text, strerror(EIO));
	assert_int_equal(error_errno(&err, ENOMEM), -ENOMEM);
	assert_string_equal(err.text, "out of memory");
}

static void control_bytes_become_question_marks(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, EBADMSG, 0, "name \"%s\"", "a\nb\tc\x1b[2J\x7f");
	assert_string_equal(err.text, "name \"a?b?c?[2J?\"");
}

static void other_bytes_stay(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, EBADMSG, 0, "%s", "\xc3\xa4 \xff %n");
	assert_string_equal(err.text, "\xc3\xa4 \xff %n");
}

static void a_long_sentence_is_cut(void **state)
{
	struct error err;
	char name[5001];

	(void)state;
	memset(name, 'x', 5000);
	name[5000] = '\0';
	error_set(&err, EBADMSG, 0, "%s", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void a_description_names_the_byte(void **state)
{
	struct error err;
	char text[300];

	(void)state;
	error_set(&err, EBADMSG, UINT64_MAX - 1, "wrong");
	assert_ptr_equal(error_describe(&err, text, sizeof(text)), text);
	assert_string_equal(text, "at byte 18446744073709551614: wrong");
}

static void a_description_without_a_place_is_the_sentence(void **state)
{
	struct error err;
	char text[300];

	(void)state;
	error_set(&err, EBADMSG, ERROR_NO_OFFSET, "wrong");
	assert_string_equal(error_describe(&err, text, sizeof(text)), "wrong");
}

static void a_description_fits_the_room_it_gets(void **state)
{
	struct error err;
	char text[12];

	(void)state;
	error_set(&err, EBADMSG, 7, "wrong");
	assert_string_equal(error_describe(&err, text, sizeof(text)), "at byte 7: ");
}

UNIT_MAIN(NULL, NULL)
