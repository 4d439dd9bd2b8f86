/* SPDX-License-Identifier: MIT */
/* test_utf8.c - fs/util/utf8.c: every code point, encoded and decoded, and nothing else. */
#include "fs/util/utf8.h"
#include "tests/unit/unit.h"

static void every_code_point_has_one_form(void **state)
{
	(void)state;
	for (uint32_t point = 1; point <= 0x10ffff; point++) {
		char bytes[5] = "";
		size_t n;

		if (point >= 0xd800 && point <= 0xdfff)
			continue;
		n = utf8_encode(point, bytes);
		assert_int_equal(n, point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
		assert_int_equal(utf8_length(bytes, sizeof(bytes)), n);
		assert_int_equal(utf8_length(bytes, n), n);
		if (n > 1)
			assert_int_equal(utf8_length(bytes, n - 1), 0);
	}
}

static void other_bytes_are_no_code_point(void **state)
{
	static const char *const others[] = {
		"\x80",		"\xc0\x80", "\xc1\xbf",		"\xe0\x80\x80",	    "\xed\xa0\x80",
		"\xed\xb2\x80", "\xf5\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff",
		"\xc3(",	"\xe2\x82("
	};

	(void)state;
	assert_int_equal(utf8_length("", 1), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_int_equal(utf8_length(others[i], strlen(others[i])), 0);
}

static void printable_characters_are_unchanged(void **state)
{
	/* Controls, marks that change the direction of text (Bidi_Control), characters forbidden
	 * in XML. */
	static const uint32_t others[] = { 0x01,   0x1b,   0x7f,   0x9b,   0x061c, 0x200e, 0x200f,
					   0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0x1ffff };
	static const uint32_t shown[] = { 'a', 0xa0, 0x3b8, 0x5d0, 0x627, 0x20ac, 0x10fffd };
	char bytes[5];
	uint32_t code;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		const size_t n = utf8_encode(others[i], bytes);

		bytes[n] = '\0';
		assert_int_equal(utf8_next(bytes, &code), n);
		assert_int_equal(code, UTF8_REPLACEMENT);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(shown); i++) {
		const size_t n = utf8_encode(shown[i], bytes);

		bytes[n] = '\0';
		assert_int_equal(utf8_next(bytes, &code), n);
		assert_int_equal(code, shown[i]);
	}
	assert_int_equal(utf8_next("\xe2\x82(", &code), 1);
	assert_int_equal(code, UTF8_REPLACEMENT);
	assert_int_equal(utf8_next("\xe2\x82", &code), 1);
	assert_int_equal(code, UTF8_REPLACEMENT);
}

UNIT_MAIN(NULL, NULL)
