/* SPDX-License-Identifier: MIT */
/* text_escape.c - see text_escape.h. */
#include "fs/util/text_escape.h"
#include "gguf/printable.h"

#include <ctype.h>
#include <string.h>

size_t text_escape_byte(const char *at, size_t n, const char *also, size_t *left, char out[3])
{
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char c = (unsigned char)*at;

	if (!*left)
		*left = control_length(at, n, NULL);
	if (!*left && !strchr(also, c > 0x7f ? '\x80' : c)) {
		*out = (char)c;
		return 1;
	}
	*left -= *left > 0;
	out[0] = '%';
	out[1] = digits[c >> 4];
	out[2] = digits[c & 15];
	return 3;
}

size_t text_escape(const char *bytes, size_t n, const char *also, char *out)
{
	size_t used = 0;

	for (size_t i = 0, left = 0; i < n; i++)
		used += text_escape_byte(bytes + i, n - i, also, &left, out + used);
	out[used] = '\0';
	return used;
}

void text_escape_print(const char *bytes, size_t n, const char *also, FILE *out)
{
	char byte[3];

	for (size_t i = 0, left = 0; i < n; i++)
		fwrite(byte, 1, text_escape_byte(bytes + i, n - i, also, &left, byte), out);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return found ? (int)(found - digits) : -1;
}

int text_unescape_byte(const char *text)
{
	const int high = text[0] == '%' ? hex_digit(text[1]) : -1;
	const int low = high < 0 ? -1 : hex_digit(text[2]);

	return low < 0 ? -1 : high << 4 | low;
}

size_t text_unescape(char *text)
{
	size_t n = 0;

	for (const char *at = text; *at; at++) {
		const int byte = text_unescape_byte(at);

		text[n++] = byte < 0 ? *at : (char)byte;
		at += byte < 0 ? 0 : 2;
	}
	text[n] = '\0';
	return n;
}
