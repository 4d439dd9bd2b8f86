/* SPDX-License-Identifier: MIT */
/* printable.c - see printable.h. */
#include "printable.h"

#include <string.h>

size_t control_length(const void *bytes, size_t n, uint32_t *code)
{
	static const struct {
		uint32_t first, last;
		size_t length; /* in UTF-8 */
	} controls[] = {
		{ 0x00, 0x1f, 1 },     { 0x7f, 0x7f, 1 },     { 0x80, 0x9f, 2 },
		{ 0x61c, 0x61c, 2 },   { 0x200e, 0x200f, 3 }, { 0x202a, 0x202e, 3 },
		{ 0x2066, 0x2069, 3 },
	};
	const uint8_t *s = bytes;
	uint32_t points[4] = { 0 };

	/* points[length]: the first bytes, decoded as a sequence of that length. */
	if (n >= 1)
		points[1] = s[0];
	if (n >= 2 && (s[0] & 0xe0) == 0xc0 && (s[1] & 0xc0) == 0x80)
		points[2] = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	if (n >= 3 && (s[0] & 0xf0) == 0xe0 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80)
		points[3] = (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		const size_t length = controls[i].length;

		if (length > n || points[length] < controls[i].first ||
		    points[length] > controls[i].last)
			continue;
		if (code)
			*code = points[length];
		return length;
	}
	return 0;
}

void make_printable(char *text)
{
	char *to = text;

	for (size_t left = strlen(text), length; left; text += length, left -= length) {
		length = control_length(text, left, NULL);
		*to++ = length ? '?' : *text;
		length += !length;
	}
	*to = '\0';
}
