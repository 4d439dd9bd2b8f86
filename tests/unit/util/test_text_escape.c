/* SPDX-License-Identifier: MIT */
/* test_text_escape.c - fs/util/text_escape.c: escaped text is restored, and other text is
 * unchanged. */
#include "fs/util/text_escape.h"
#include "tests/unit/unit.h"

static void every_byte_survives_escaping(void **state)
{
	char bytes[255], text[3 * sizeof(bytes) + 1];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i + 1);
	n = text_escape(bytes, sizeof(bytes), "%", text);
	assert_int_equal(n, strlen(text));
	assert_null(strpbrk(text, "\t\n\x7f"));
	assert_int_equal(text_unescape(text), sizeof(bytes));
	assert_memory_equal(text, bytes, sizeof(bytes));
}

static void encoding_only_controls_and_named_bytes(void **state)
{
	static const struct {
		const char *bytes, *also, *expected;
	} cases[] = {
		{ "a b%\n\xc3\xa9", "", "a b%%0A\xc3\xa9" },
		{ "a b%\n\xc3\xa9", "%", "a b%25%0A\xc3\xa9" },
		{ "a b%\n\xc3\xa9", " %\x80", "a%20b%25%0A%C3%A9" },
		/* U+0085 and U+202E: each byte is encoded; half of one is no control character. */
		{ "\xc2\x85.\xe2\x80\xae/", "/", "%C2%85.%E2%80%AE%2F" },
		{ "\xe2\x80", "", "\xe2\x80" },
		{ "", "%", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[64], *printed = NULL;
		size_t size;
		FILE *out = open_memstream(&printed, &size);

		assert_non_null(out);
		text_escape(cases[i].bytes, strlen(cases[i].bytes), cases[i].also, text);
		assert_string_equal(text, cases[i].expected);
		text_escape_print(cases[i].bytes, strlen(cases[i].bytes), cases[i].also, out);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(printed, cases[i].expected);
		free(printed);
	}
}

static void decoding_takes_both_cases_and_leaves_the_rest(void **state)
{
	char text[] = "%41%6a%6A%%42%4%g1%";

	(void)state;
	assert_int_equal(text_unescape_byte("%fF"), 0xff);
	assert_int_equal(text_unescape_byte("%00x"), 0);
	assert_int_equal(text_unescape_byte("%"), -1);
	assert_int_equal(text_unescape_byte("%4"), -1);
	assert_int_equal(text_unescape_byte("%4g"), -1);
	assert_int_equal(text_unescape_byte("41"), -1);
	assert_int_equal(text_unescape_byte(""), -1);
	assert_int_equal(text_unescape(text), strlen("Ajj%B%4%g1%"));
	assert_string_equal(text, "Ajj%B%4%g1%");
}

UNIT_MAIN(NULL, NULL)
