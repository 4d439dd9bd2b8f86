/* SPDX-License-Identifier: MIT */
/* picture_text.c - text of any bytes as XML, its width, and numbers of fixed width. */
#include "fs/files/picture_internal.h"
#include "fs/util/utf8.h"

#include <math.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"
#define EM	    100 /* widths are in hundredths of the letter size */

/* Width in the widest of the common fonts, DejaVu Sans and Verdana, rounded up. */
static size_t width_of(uint32_t code)
{
	if (code >= 0x80 || strchr("mwMW@%&<>=+~#^", (int)code))
		return EM;
	if (strchr("ijl.,:;'|! I", (int)code))
		return 37;
	if (strchr("frt-()[]/\\\"`", (int)code))
		return 46;
	return code >= 'A' && code <= 'Z' ? 80 : 65;
}

static size_t measure(const char *text)
{
	size_t width = 0;
	uint32_t code;

	while (*text) {
		text += utf8_next(text, &code);
		width += width_of(code);
	}
	return width;
}

size_t picture_text_width(const char *text, size_t size)
{
	return (measure(text) * size + EM - 1) / EM;
}

static void print_character(FILE *out, const char *bytes, size_t length, uint32_t code)
{
	switch (code) {
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '&':
		fputs("&amp;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	case '\'':
		fputs("&#39;", out);
		break;
	case UTF8_REPLACEMENT:
		fputs(REPLACEMENT, out);
		break;
	default:
		fwrite(bytes, 1, length, out);
	}
}

/* Number of leading bytes that need no escape. */
static size_t plain_length(const char *text)
{
	size_t n = 0;

	while (text[n] >= 0x20 && text[n] < 0x7f && !strchr("<>&\"'", text[n]))
		n++;
	return n;
}

void picture_text_print(FILE *out, const char *text)
{
	uint32_t code;

	while (*text) {
		size_t length = plain_length(text);

		fwrite(text, 1, length, out);
		text += length;
		if (*text) {
			length = utf8_next(text, &code);
			print_character(out, text, length, code);
			text += length;
		}
	}
}

void picture_text_end(FILE *out, const char *text, size_t size, size_t width)
{
	const size_t total = measure(text), room = width * EM / size;
	const size_t part = total <= room ? total : room > EM ? (room - EM) / 2 : 0;
	size_t before = 0;
	bool cut = false;
	uint32_t code;

	while (*text) {
		const size_t length = utf8_next(text, &code);

		if (before + width_of(code) <= part || total - before <= part) {
			print_character(out, text, length, code);
		} else if (!cut) {
			fputs(ELLIPSIS, out);
			cut = true;
		}
		before += width_of(code);
		text += length;
	}
	fputs("</text>\n", out);
}

static const char *no_number(char out[NUMBER_MAX], int width)
{
	snprintf(out, NUMBER_MAX, "%*s", width, "-");
	return out;
}

const char *picture_number_fixed(char out[NUMBER_MAX], int width, int decimals, double value)
{
	if (!isfinite(value) || snprintf(out, NUMBER_MAX, "%*.*f", width, decimals, value) != width)
		return no_number(out, width);
	return out;
}

const char *picture_number_general(char out[NUMBER_MAX], int width, double value)
{
	for (int digits = 6; isfinite(value) && digits > 0; digits--)
		if (snprintf(out, NUMBER_MAX, "%*.*g", width, digits, value) == width)
			return out;
	return no_number(out, width);
}

const char *picture_number_signed(char out[NUMBER_MAX], int width, int decimals, double value)
{
	char zero[NUMBER_MAX];

	if (!isfinite(value) ||
	    snprintf(out, NUMBER_MAX, "%+*.*f", width, decimals, value) != width)
		return no_number(out, width);
	/* A difference that is rounded to zero has no sign. */
	snprintf(zero, sizeof(zero), "%*.*f", width, decimals, 0.0);
	if (strspn(out, " +-0.") == (size_t)width)
		memcpy(out, zero, (size_t)width);
	return out;
}
