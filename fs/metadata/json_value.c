/* SPDX-License-Identifier: MIT */
/* json_value.c - see json_value.h. */
#include "fs/metadata/json_value.h"
#include "fs/util/utf8.h"
#include "gguf/printable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_add_unsigned(cJSON *object, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	cJSON_AddRawToObject(object, key, text);
}

void json_add_signed(cJSON *object, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	cJSON_AddRawToObject(object, key, text);
}

/* JSON has no word for what is not a number; these are the words others read back. */
static cJSON *json_float(double value, int digits, int most_digits, bool single)
{
	char text[40];

	if (isnan(value))
		return cJSON_CreateString("NaN");
	if (isinf(value))
		return cJSON_CreateString(value > 0 ? "Infinity" : "-Infinity");
	do
		snprintf(text, sizeof(text), "%.*g", digits, value);
	while (digits++ < most_digits &&
	       (single ? strtof(text, NULL) != (float)value : strtod(text, NULL) != value));
	return cJSON_CreateRaw(text);
}

static cJSON *json_integer(enum kv_type type, uint64_t scalar)
{
	const unsigned unused = 64 - 8 * kv_type_size(type);
	const bool is_signed = type == KV_I8 || type == KV_I16 || type == KV_I32 || type == KV_I64;
	char text[24];

	if (is_signed)
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)(scalar << unused) >> unused);
	else
		snprintf(text, sizeof(text), "%" PRIu64, scalar);
	return cJSON_CreateRaw(text);
}

cJSON *json_scalar(enum kv_type type, uint64_t scalar)
{
	const uint32_t low = (uint32_t)scalar;
	double wide;
	float narrow;

	switch (type) {
	case KV_BOOL:
		return cJSON_CreateBool(scalar != 0);
	case KV_F32:
		memcpy(&narrow, &low, sizeof(narrow));
		return json_float((double)narrow, 6, 9, true);
	case KV_F64:
		memcpy(&wide, &scalar, sizeof(wide));
		return json_float(wide, 15, 17, false);
	default:
		return json_integer(type, scalar);
	}
}

enum replacement { REPLACE_MARK, REPLACE_PERCENT };

static char *clean(const char *bytes, size_t n, enum replacement replacement)
{
	char *text = malloc(n * 3 + 1), *out = text;
	size_t i = 0;

	if (!text)
		return NULL;
	while (i < n) {
		const size_t length = utf8_length(bytes + i, n - i);

		if (length && !(replacement == REPLACE_PERCENT && bytes[i] == '%')) {
			memcpy(out, bytes + i, length);
			out += length;
			i += length;
			continue;
		}
		if (replacement == REPLACE_PERCENT)
			sprintf(out, "%%%02X", (unsigned char)bytes[i]);
		else
			memcpy(out, "\xef\xbf\xbd", 4);
		out += 3;
		i++;
	}
	*out = '\0';
	return text;
}

cJSON *json_text(const char *bytes, size_t n)
{
	char *text = clean(bytes, n, REPLACE_MARK);
	cJSON *item = text ? cJSON_CreateString(text) : NULL;

	free(text);
	return item;
}

char *json_key(const char *bytes, size_t n)
{
	return clean(bytes, n, REPLACE_PERCENT);
}

void json_print(const char *json, FILE *out)
{
	const char *plain = json;
	uint32_t code;

	for (size_t left = strlen(json), length; left; json += length, left -= length) {
		length = control_length(json, left, &code);
		if (length && code >= 0x7f) {
			fprintf(out, "%.*s\\u%04x", (int)(json - plain), plain, (unsigned)code);
			plain = json + length;
		}
		length += !length;
	}
	fputs(plain, out);
}
