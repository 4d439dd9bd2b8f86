/* SPDX-License-Identifier: MIT */
/* utf8.c - see utf8.h. */
#include "fs/util/utf8.h"
#include "gguf/printable.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_length(const void *bytes, size_t n)
{
	static const struct {
		unsigned char first, last, low, high;
		size_t length;
	} forms[] = {
		{ 0x01, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const unsigned char *s = bytes;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (forms[i].length > n)
			return 0;
		if (forms[i].length > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if (s[k] < 0x80 || s[k] > 0xbf)
				return 0;
		return forms[i].length;
	}
	return 0;
}

size_t utf8_encode(uint32_t point, char out[4])
{
	static const uint32_t limits[] = { 0x80, 0x800, 0x10000 };
	static const unsigned char marks[] = { 0, 0xc0, 0xe0, 0xf0 };
	size_t n = 1;

	while (n < 4 && point >= limits[n - 1])
		n++;
	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	out[0] = (char)(marks[n - 1] | point);
	return n;
}

/* Decode the code point at the start of s, which ends with a NUL. Returns its length; an invalid
 * byte has length 1 and gives U+FFFD. */
static size_t decode(const char *s, uint32_t *code)
{
	const size_t length = utf8_length(s, strnlen(s, 4));
	uint32_t value = (unsigned char)*s & (length > 1 ? 0x7fu >> length : 0x7fu);

	for (size_t i = 1; i < length; i++)
		value = value << 6 | ((unsigned char)s[i] & 0x3f);
	*code = length ? value : UTF8_REPLACEMENT;
	return length ? length : 1;
}

/* Characters that XML forbids, that have no width, or that end a line. */
static bool is_unprintable(uint32_t code)
{
	return (code & 0xfffe) == 0xfffe || (code >= 0x200b && code <= 0x200d) || code == 0x2028 ||
	       code == 0x2029 || code == 0xfeff;
}

size_t utf8_next(const char *text, uint32_t *code)
{
	const size_t length = decode(text, code);

	if (control_length(text, length, NULL) || is_unprintable(*code))
		*code = UTF8_REPLACEMENT;
	return length;
}
