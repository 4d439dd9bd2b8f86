/* SPDX-License-Identifier: MIT */
/* value.c - see value.h. */
#include "fs/metadata/value.h"
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const long_names[KV_TYPES] = {
	[KV_U8] = "uint8",	[KV_I8] = "int8",     [KV_U16] = "uint16",  [KV_I16] = "int16",
	[KV_U32] = "uint32",	[KV_I32] = "int32",   [KV_F32] = "float32", [KV_BOOL] = "bool",
	[KV_STRING] = "string", [KV_ARRAY] = "array", [KV_U64] = "uint64",  [KV_I64] = "int64",
	[KV_F64] = "float64",
};

static const char array_of[] = "array of ";
#define ARRAY_OF (sizeof(array_of) - 1)

const char *value_type_text(struct value_type type, char text[VALUE_TYPE_TEXT])
{
	const bool array = type.type == KV_ARRAY;

	snprintf(text, VALUE_TYPE_TEXT, "%s%s", array ? array_of : "",
		 long_names[array ? type.element : type.type]);
	return text;
}

static bool is_word(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

bool value_type_parse(const char *text, size_t n, struct value_type *type)
{
	bool array = false;

	if (n > ARRAY_OF && strncasecmp(text, array_of, ARRAY_OF) == 0) {
		array = true;
		text += ARRAY_OF;
		n -= ARRAY_OF;
	} else if (n > 2 && memcmp(text + n - 2, "[]", 2) == 0) {
		array = true;
		n -= 2;
	}
	for (enum kv_type t = 0; t < KV_TYPES; t++) {
		if (t == KV_ARRAY ||
		    (!is_word(text, n, long_names[t]) && !is_word(text, n, kv_type_name(t))))
			continue;
		*type = array ? (struct value_type){ KV_ARRAY, t } : (struct value_type){ t, 0 };
		return true;
	}
	return false;
}

bool value_type_same(struct value_type a, struct value_type b)
{
	return a.type == b.type && (a.type != KV_ARRAY || a.element == b.element);
}

double value_float(enum kv_type type, uint64_t scalar)
{
	const uint32_t low = (uint32_t)scalar;
	double wide;
	float narrow;

	if (type == KV_F64) {
		memcpy(&wide, &scalar, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, &low, sizeof(narrow));
	return (double)narrow;
}

bool value_float_reads_back(enum kv_type type, const char *text, double value)
{
	return type == KV_F64 ? strtod(text, NULL) == value : strtof(text, NULL) == (float)value;
}

/* Print as by %g with the fewest digits, but values up to 999999 in full. */
static size_t print_finite(enum kv_type type, double value, char *text)
{
	int digits = 1, exponent;

	/* Shortcut for the frequent small integers: no digits to drop, no exponent. */
	if (fabs(value) < 1e6 && value == trunc(value) && !(value == 0 && signbit(value)))
		return (size_t)sprintf(text, "%d", (int)value);
	do
		snprintf(text, VALUE_SCALAR_TEXT, "%.*e", digits - 1, value);
	while (!value_float_reads_back(type, text, value) && digits++ < 17);
	exponent = atoi(strchr(text, 'e') + 1);
	if (exponent < -4 || exponent >= (digits > 6 ? digits : 6))
		return strlen(text);
	return (size_t)snprintf(text, VALUE_SCALAR_TEXT, "%.*f",
				digits - 1 > exponent ? digits - 1 - exponent : 0, value);
}

static const uint64_t plain_nan[2] = { 0x7fc00000, 0x7ff8000000000000 };

static size_t print_float(enum kv_type type, uint64_t scalar, char *text)
{
	const double value = value_float(type, scalar);

	if (isinf(value))
		return (size_t)sprintf(text, value > 0 ? "inf" : "-inf");
	if (!isnan(value))
		return print_finite(type, value, text);
	if (scalar == plain_nan[type == KV_F64])
		return (size_t)sprintf(text, "nan");
	return (size_t)sprintf(text, "nan(0x%0*" PRIx64 ")", type == KV_F64 ? 16 : 8, scalar);
}

static bool is_signed(enum kv_type type)
{
	return type == KV_I8 || type == KV_I16 || type == KV_I32 || type == KV_I64;
}

static uint64_t mask_of(enum kv_type type)
{
	return UINT64_MAX >> (64 - 8 * kv_type_size(type));
}

size_t value_scalar_text(enum kv_type type, uint64_t scalar, char text[VALUE_SCALAR_TEXT])
{
	const unsigned unused = 64 - 8 * kv_type_size(type);

	scalar &= mask_of(type);
	if (type == KV_F32 || type == KV_F64)
		return print_float(type, scalar, text);
	if (type == KV_BOOL && scalar <= 1)
		return (size_t)sprintf(text, scalar ? "true" : "false");
	if (is_signed(type))
		return (size_t)sprintf(text, "%" PRId64, (int64_t)(scalar << unused) >> unused);
	return (size_t)sprintf(text, "%" PRIu64, scalar);
}

bool value_scalar(const struct value *value, uint64_t i, uint64_t *scalar)
{
	const bool array = value->type.type == KV_ARRAY;
	const uint32_t size = kv_type_size(array ? value->type.element : value->type.type);
	uint8_t bytes[8] = { 0 };

	if (size == 0 || i >= (array ? value->count : 1) ||
	    value->source->read_at(value->source->context, bytes, size, value->offset + i * size) <
		    0)
		return false;
	*scalar = load_u64(bytes);
	return true;
}

static int refuse(struct error *err, uint64_t offset, const char *text, size_t n, const char *why,
		  enum kv_type type)
{
	return error_set(err, EINVAL, offset, "\"%.*s\" is %s %s", (int)(n < 60 ? n : 60), text,
			 why, long_names[type]);
}

/* Parse decimal digits. False: not a number; *fits: no overflow. */
static bool parse_digits(const char *text, size_t n, uint64_t *value, bool *fits)
{
	*value = 0;
	*fits = true;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*fits = *fits && !__builtin_mul_overflow(*value, 10u, value) &&
			!__builtin_add_overflow(*value, (uint64_t)(text[i] - '0'), value);
	}
	return n > 0;
}

static int parse_integer(enum kv_type type, const char *text, size_t n, uint64_t offset,
			 uint64_t *scalar, struct error *err)
{
	const bool minus = n && text[0] == '-';
	const size_t sign = minus || (n && text[0] == '+');
	uint64_t value, most = mask_of(type);
	bool fits;

	if (!parse_digits(text + sign, n - sign, &value, &fits))
		return refuse(err, offset, text, n, "no", type);
	if (is_signed(type))
		most = (most >> 1) + minus;
	else if (minus)
		most = 0;
	if (!fits || value > most)
		return refuse(err, offset, text, n, "out of the range of", type);
	*scalar = (minus ? 0 - value : value) & mask_of(type);
	return 0;
}

static int parse_bool(const char *text, size_t n, uint64_t offset, uint64_t *scalar,
		      struct error *err)
{
	if (is_word(text, n, "true"))
		*scalar = 1;
	else if (is_word(text, n, "false"))
		*scalar = 0;
	else if (parse_integer(KV_U8, text, n, offset, scalar, NULL) < 0)
		return error_set(err, EINVAL, offset, "\"%.*s\" is neither true nor false",
				 (int)(n < 60 ? n : 60), text);
	return 0;
}

/* Parse "inf", "-infinity", "nan", "nan(0x7fc00001)". */
static bool parse_special(enum kv_type type, const char *text, size_t n, uint64_t *scalar)
{
	const bool wide = type == KV_F64;
	const size_t digits = wide ? 16 : 8;
	const bool minus = n && text[0] == '-';
	const size_t sign = minus || (n && text[0] == '+');
	const uint64_t infinity = wide ? 0x7ff0000000000000 : 0x7f800000;
	char hex[20];
	char *end;

	if (n == digits + 7 && strncasecmp(text, "nan(0x", 6) == 0 && text[n - 1] == ')') {
		snprintf(hex, sizeof(hex), "%.*s", (int)digits, text + 6);
		*scalar = strtoull(hex, &end, 16);
		return strspn(hex, "0123456789abcdefABCDEF") == digits &&
		       isnan(value_float(type, *scalar));
	}
	text += sign;
	n -= sign;
	if (is_word(text, n, "nan"))
		*scalar = plain_nan[wide];
	else if (is_word(text, n, "inf") || is_word(text, n, "infinity"))
		*scalar = infinity;
	else
		return false;
	if (minus)
		*scalar |= wide ? 1ull << 63 : 1ull << 31;
	return true;
}

static const char *skip_digits(const char *at)
{
	return at + strspn(at, "0123456789");
}

/* Is it [+-] digits [. digits] [e [+-] digits], with a digit before the e? strtod() takes more. */
static bool is_number(const char *word, size_t n)
{
	const char *whole = word + (*word == '-' || *word == '+'), *end = skip_digits(whole);
	bool digits = end > whole;

	if (*end == '.') {
		whole = end + 1;
		end = skip_digits(whole);
		digits |= end > whole;
	}
	if (digits && (*end | 0x20) == 'e') {
		whole = end + 1 + (end[1] == '-' || end[1] == '+');
		end = skip_digits(whole);
		digits = end > whole;
	}
	return digits && end == word + n;
}

/* no float needs so many digits; longer words are refused */
#define FLOAT_WORD_MAX ((size_t)1100)

static int parse_float(enum kv_type type, const char *text, size_t n, uint64_t offset,
		       uint64_t *scalar, struct error *err)
{
	char word[FLOAT_WORD_MAX + 1];
	uint32_t low;
	double wide;
	float narrow;

	if (parse_special(type, text, n, scalar))
		return 0;
	snprintf(word, sizeof(word), "%.*s", n > FLOAT_WORD_MAX ? 0 : (int)n, text);
	if (!is_number(word, n))
		return refuse(err, offset, text, n, "no", type);
	if (type == KV_F64) {
		wide = strtod(word, NULL);
		memcpy(scalar, &wide, sizeof(wide));
	} else {
		narrow = strtof(word, NULL);
		memcpy(&low, &narrow, sizeof(narrow));
		*scalar = low;
		wide = (double)narrow;
	}
	return isinf(wide) ? refuse(err, offset, text, n, "out of the range of", type) : 0;
}

int value_scalar_parse(enum kv_type type, const char *text, size_t n, uint64_t offset,
		       uint64_t *scalar, struct error *err)
{
	if (type == KV_F32 || type == KV_F64)
		return parse_float(type, text, n, offset, scalar, err);
	if (type == KV_BOOL)
		return parse_bool(text, n, offset, scalar, err);
	return parse_integer(type, text, n, offset, scalar, err);
}
