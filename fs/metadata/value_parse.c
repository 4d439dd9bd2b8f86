/* SPDX-License-Identifier: MIT */
/* value_parse.c - see value_parse.h. A strict parser for a flat JSON array, because JSON libraries
 * lose 64-bit integers, the sign of a NaN, or bytes that are not UTF-8. */
#include "fs/metadata/value_parse.h"
#include "fs/util/utf8.h"
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct value_parser {
	struct cursor in;
	enum kv_type type; /* of the scalar or the elements */
	uint32_t width;
	struct value_bytes out;
	size_t room;
	struct error *err;
};

static int out_of_memory(struct value_parser *p)
{
	return error_errno(p->err, ENOMEM);
}

static int unreadable(struct value_parser *p)
{
	return error_set(p->err, EIO, p->in.at, "the written text cannot be read back");
}

/* Append n bytes to the value. */
static int append(struct value_parser *p, const void *bytes, size_t n)
{
	if (n > p->room - p->out.length) {
		const size_t more = (p->room + n) * 2;
		uint8_t *larger = realloc(p->out.bytes, more);

		if (!larger)
			return out_of_memory(p);
		p->out.bytes = larger;
		p->room = more;
	}
	store_bytes(p->out.bytes + p->out.length, bytes, n);
	p->out.length += n;
	return 0;
}

/* The next byte without consuming it; AT_END; or UNREADABLE. */
#define AT_END	   (-1)
#define UNREADABLE (-2)
static int peek(struct value_parser *p)
{
	const uint8_t *byte;

	if (cursor_left(&p->in) == 0)
		return AT_END;
	if (cursor_take(&p->in, 1, &byte) < 0)
		return UNREADABLE;
	p->in.at--;
	return *byte;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skip blanks and return the next byte without consuming it. */
static int skip_blanks(struct value_parser *p)
{
	int c;

	while (is_blank(c = peek(p)))
		p->in.at++;
	return c;
}

static int expected(struct value_parser *p, int c, const char *what)
{
	if (c == UNREADABLE)
		return unreadable(p);
	if (c == AT_END)
		return error_set(p->err, EINVAL, p->in.at, "expected %s, and the text ends", what);
	return error_set(p->err, EINVAL, p->in.at, "expected %s, not '%c'", what,
			 c > ' ' && c < 0x7f ? c : '?');
}

/* longest word of a scalar */
#define WORD_MAX ((size_t)1200)

/* Read a word up to a blank, or within an array up to ',' or ']'. */
static int read_word(struct value_parser *p, char word[WORD_MAX], size_t *n, bool in_array)
{
	int c;

	for (*n = 0; *n < WORD_MAX; p->in.at++) {
		c = peek(p);
		if (c == UNREADABLE)
			return unreadable(p);
		if (c < 0 || is_blank(c) || (in_array && (c == ',' || c == ']')))
			return 0;
		word[(*n)++] = (char)c;
	}
	return error_set(p->err, EINVAL, p->in.at,
			 "a word of over %zu bytes is too long for a value", WORD_MAX);
}

/* "inf" and "nan", which JSON can express only as strings. */
static bool is_quoted(const char *word, size_t n)
{
	return n > 2 && word[0] == '"' && word[n - 1] == '"' &&
	       (memchr(word, 'n', n) || memchr(word, 'N', n));
}

static int parse_scalar(struct value_parser *p, bool in_array)
{
	const uint64_t start = p->in.at;
	char word[WORD_MAX];
	uint8_t bytes[8];
	uint64_t scalar;
	size_t n, quote;
	int rc = read_word(p, word, &n, in_array);

	if (rc < 0)
		return rc;
	if (n == 0)
		return expected(p, peek(p), in_array ? "an element" : "a value");
	quote = in_array && (p->type == KV_F32 || p->type == KV_F64) && is_quoted(word, n);
	rc = value_scalar_parse(p->type, word + quote, n - 2 * quote, start, &scalar, p->err);
	if (rc < 0)
		return rc;
	store_u64(bytes, scalar);
	return append(p, bytes, kv_type_size(p->type));
}

/* Parse the four digits of \uXXXX. */
static int parse_hex(struct value_parser *p, uint32_t *unit)
{
	const uint8_t *digits;

	*unit = 0;
	if (cursor_left(&p->in) < 4)
		return error_set(p->err, EINVAL, p->in.at, "the text ends inside a \\u escape");
	if (cursor_take(&p->in, 4, &digits) < 0)
		return unreadable(p);
	for (int i = 0; i < 4; i++) {
		const char *hex = "0123456789abcdef";
		const char c = (char)(digits[i] | (digits[i] >= 'A' ? 0x20 : 0));
		const char *digit = c ? strchr(hex, c) : NULL;

		if (!digit)
			return error_set(p->err, EINVAL, p->in.at - 4,
					 "a \\u escape needs four hexadecimal digits");
		*unit = *unit << 4 | (uint32_t)(digit - hex);
	}
	return 0;
}

/* Parse the part after "\u". A lone low surrogate from \udc80 to \udcff stands for a byte. */
static int parse_unit(struct value_parser *p)
{
	const uint64_t start = p->in.at - 2;
	uint32_t unit, low;
	const uint8_t *next;
	char bytes[4];
	int rc = parse_hex(p, &unit);

	if (rc < 0)
		return rc;
	if (unit < 0xd800 || unit > 0xdfff)
		return append(p, bytes, utf8_encode(unit, bytes));
	if (unit >= 0xdc80 && unit <= 0xdcff) {
		bytes[0] = (char)(unit & 0xff);
		return append(p, bytes, 1);
	}
	if (unit < 0xdc00 && cursor_take(&p->in, 2, &next) == 0 && memcmp(next, "\\u", 2) == 0) {
		rc = parse_hex(p, &low);
		if (rc < 0)
			return rc;
		if (low >= 0xdc00 && low <= 0xdfff) {
			unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
			return append(p, bytes, utf8_encode(unit, bytes));
		}
	}
	return error_set(p->err, EINVAL, start,
			 "\\u%04" PRIx32 " is half of a surrogate pair without the other half",
			 unit);
}

static int parse_escape(struct value_parser *p)
{
	static const char forms[] = "b\bt\tn\nf\fr\r\"\"\\\\//";
	const uint64_t start = p->in.at - 1;
	const int c = peek(p);

	if (c == UNREADABLE)
		return unreadable(p);
	p->in.at++;
	if (c == 'u')
		return parse_unit(p);
	for (size_t i = 0; i < sizeof(forms) - 1; i += 2)
		if (c == forms[i])
			return append(p, &forms[i + 1], 1);
	return error_set(p->err, EINVAL, start, "a backslash begins no JSON escape");
}

/* Copy a run of unescaped bytes of a string. */
static int parse_plain(struct value_parser *p)
{
	const uint64_t left = cursor_left(&p->in);
	const size_t n = left < 4096 ? (size_t)left : 4096;
	const uint64_t at = p->in.at;
	const uint8_t *bytes;
	size_t used = 0;

	if (cursor_take(&p->in, n, &bytes) < 0)
		return unreadable(p);
	while (used < n && bytes[used] >= 0x20 && bytes[used] != '"' && bytes[used] != '\\') {
		const size_t length = utf8_length(bytes + used, n - used);

		if (length == 0)
			break;
		used += length;
	}
	p->in.at = at + used;
	if (used)
		return append(p, bytes, used);
	if (bytes[0] < 0x20)
		return error_set(p->err, EINVAL, at,
				 "a string has a control byte, which has to be written as \\u%04x",
				 bytes[0]);
	return error_set(p->err, EINVAL, at,
			 "a string has a byte that is not UTF-8; write it as \\udc%02x", bytes[0]);
}

static int parse_string(struct value_parser *p)
{
	const uint8_t none[8] = { 0 };
	const size_t length_at = p->out.length;
	uint8_t *bytes;
	size_t length;
	int c = peek(p), rc;

	if (c != '"')
		return expected(p, c, "a string in quotes");
	p->in.at++;
	rc = append(p, none, p->width);
	while (rc == 0 && (c = peek(p)) != '"') {
		if (c < 0)
			return expected(p, c, "the end of a string");
		if (c == '\\') {
			p->in.at++;
			rc = parse_escape(p);
		} else {
			rc = parse_plain(p);
		}
	}
	if (rc < 0)
		return rc;
	p->in.at++;
	length = p->out.length - length_at - p->width;
	bytes = p->out.bytes + length_at;
	if (p->width == 8)
		store_u64(bytes, length);
	else
		store_u32(bytes, (uint32_t)length);
	return 0;
}

/* Check that only blanks follow. */
static int parse_end(struct value_parser *p)
{
	const int c = skip_blanks(p);

	return c == AT_END ? 0 : expected(p, c, "the end");
}

static int parse_elements(struct value_parser *p)
{
	for (;;) {
		int c, rc = p->type == KV_STRING ? parse_string(p) : parse_scalar(p, true);

		if (rc < 0)
			return rc;
		p->out.count++;
		c = skip_blanks(p);
		if (c == ']')
			return 0;
		if (c != ',')
			return expected(p, c, "a comma or ]");
		p->in.at++;
		skip_blanks(p);
	}
}

static int parse_array(struct value_parser *p)
{
	int c = skip_blanks(p), rc;

	if (c != '[')
		return expected(p, c, "the [ of an array");
	p->in.at++;
	rc = skip_blanks(p) == ']' ? 0 : parse_elements(p);
	if (rc < 0)
		return rc;
	p->in.at++;
	return parse_end(p);
}

/* Copy the whole text except one newline at its end. */
static int parse_text(struct value_parser *p)
{
	uint64_t left;
	int rc = 0;

	while (rc == 0 && (left = cursor_left(&p->in)) > 0) {
		const size_t n = left < CURSOR_TAKE_MAX ? (size_t)left : CURSOR_TAKE_MAX;
		const uint8_t *bytes;

		if (cursor_take(&p->in, n, &bytes) < 0)
			return unreadable(p);
		rc = append(p, bytes, n);
	}
	if (rc == 0 && p->out.length && p->out.bytes[p->out.length - 1] == '\n')
		p->out.length--;
	return rc;
}

int value_parse(const struct source *text, struct value_type type, uint32_t width,
		struct value_bytes *out, struct error *err)
{
	struct value_parser p = { .type = type.type, .width = width, .err = err };
	int rc;

	*out = (struct value_bytes){ 0 };
	if (text->size > VALUE_PARSE_MAX)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "a text of %" PRIu64 " bytes is too long for a value", text->size);
	if (cursor_init(&p.in, text, 0) < 0)
		return out_of_memory(&p);
	if (type.type == KV_STRING) {
		rc = parse_text(&p);
	} else if (type.type == KV_ARRAY) {
		p.type = type.element;
		rc = parse_array(&p);
	} else {
		skip_blanks(&p);
		rc = parse_scalar(&p, false);
		if (rc == 0)
			rc = parse_end(&p);
	}
	/* Allocate for an empty value as well, so that bytes is never NULL. */
	if (rc == 0 && !p.out.bytes && !(p.out.bytes = malloc(1)))
		rc = out_of_memory(&p);
	cursor_release(&p.in);
	if (rc < 0)
		free(p.out.bytes);
	else
		*out = p.out;
	return rc;
}
