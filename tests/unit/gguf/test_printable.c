/* SPDX-License-Identifier: MIT */
/* test_printable.c - gguf/printable.c: characters that must not be printed. */
#include "gguf/printable.h"
#include "tests/unit/unit.h"

/* A UTF-8 encoder, because gguf/ may not use utf8_encode(). */
static size_t put(uint32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | point >> 12);
	out[1] = (char)(0x80 | (point >> 6 & 0x3f));
	out[2] = (char)(0x80 | (point & 0x3f));
	return 3;
}

static bool is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x61c ||
	       point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069);
}

static void exactly_the_listed_code_points_are_controls(void **state)
{
	(void)state;
	for (uint32_t point = 0; point < 0x10000; point++) {
		char bytes[4] = "";
		const size_t n = put(point, bytes);
		uint32_t code = 1;

		assert_int_equal(control_length(bytes, n, &code), is_control(point) ? n : 0);
		assert_int_equal(control_length(bytes, sizeof(bytes), NULL),
				 is_control(point) ? n : 0);
		if (is_control(point))
			assert_int_equal(code, point);
		/* A prefix of the character is no control character. */
		if (n > 1)
			assert_int_equal(control_length(bytes, n - 1, NULL), 0);
	}
	assert_int_equal(control_length("", 0, NULL), 0);
}

static void invalid_utf8_is_no_control(void **state)
{
	static const char *const others[] = {
		"\xc1\x9b", "\xc2(", "\xc2\xc2", "\xe2\x80(", "\xe2(\xae", "\x9b", "\xff\x9b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_int_equal(control_length(others[i], strlen(others[i]), NULL), 0);
}

static void each_control_becomes_one_question_mark(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "plain \xc3\xa4 \xce\xb8 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "plain \xc3\xa4 \xce\xb8 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "a\n\tb\x7f", "a??b?" },
		{ "\xc2\x9b"
		  "31m",
		  "?31m" },
		{ "x\xe2\x80\xaey\xe2\x81\xa6\xd8\x9cz", "x?y??z" },
		{ "cut \xe2\x80", "cut \xe2\x80" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char *text = strdup(cases[i].text);

		assert_non_null(text);
		make_printable(text);
		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

UNIT_MAIN(NULL, NULL)
