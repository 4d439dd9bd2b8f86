/* SPDX-License-Identifier: MIT */
/* json_value.c - see json_value.h. */
#include "fs/metadata/json_value.h"
#include "fs/metadata/value.h"
#include "fs/util/utf8.h"
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/printable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* longer strings are truncated */
#define STRING_MAX ((uint64_t)1 << 20)

/* shown elements of an array, and bytes of a string in it */
#define FIRST_ELEMENTS 8
#define FIRST_BYTES    ((uint64_t)200)

void json_add_unsigned(cJSON *object, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	cJSON_AddRawToObject(object, key, text);
}

/* JSON lacks infinities and NaN; other programs parse these words. */
static cJSON *json_float(enum kv_type type, double value)
{
	int digits = type == KV_F64 ? 15 : 6;
	char text[40];

	if (isnan(value))
		return cJSON_CreateString("NaN");
	if (isinf(value))
		return cJSON_CreateString(value > 0 ? "Infinity" : "-Infinity");
	do
		snprintf(text, sizeof(text), "%.*g", digits, value);
	while (digits++ < (type == KV_F64 ? 17 : 9) && !value_float_reads_back(type, text, value));
	return cJSON_CreateRaw(text);
}

cJSON *json_scalar(enum kv_type type, uint64_t scalar)
{
	char text[VALUE_SCALAR_TEXT];

	if (type == KV_BOOL)
		return cJSON_CreateBool(scalar != 0);
	if (type == KV_F32 || type == KV_F64)
		return json_float(type, value_float(type, scalar));
	value_scalar_text(type, scalar, text);
	return cJSON_CreateRaw(text);
}

/* Replace NUL and invalid UTF-8 by U+FFFD, or percent-encode them and '%'. */
static char *clean(const char *bytes, size_t n, bool percent)
{
	char *text = malloc(n * 3 + 1), *out = text;
	size_t i = 0;

	if (!text)
		return NULL;
	while (i < n) {
		const size_t length = utf8_length(bytes + i, n - i);

		if (length && !(percent && bytes[i] == '%')) {
			memcpy(out, bytes + i, length);
			out += length;
			i += length;
			continue;
		}
		if (percent)
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
	char *text = clean(bytes, n, false);
	cJSON *item = text ? cJSON_CreateString(text) : NULL;

	free(text);
	return item;
}

static int read_at(const struct value *value, void *bytes, size_t n, uint64_t offset)
{
	return value->source->read_at(value->source->context, bytes, n, offset);
}

static cJSON *read_text(const struct value *value, uint64_t offset, uint64_t n)
{
	char *bytes = malloc((size_t)n + 1);
	cJSON *item = NULL;

	if (bytes && read_at(value, bytes, (size_t)n, offset) == 0)
		item = json_text(bytes, (size_t)n);
	free(bytes);
	return item;
}

static cJSON *string_value(const struct value *value)
{
	cJSON *object;

	if (value->length <= STRING_MAX)
		return read_text(value, value->offset, value->length);
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "type", "string");
	json_add_unsigned(object, "length", value->length);
	cJSON_AddItemToObject(object, "first", read_text(value, value->offset, FIRST_BYTES));
	return object;
}

static void add_strings(const struct value *value, cJSON *first)
{
	uint64_t at = value->offset;

	for (uint64_t i = 0; i < value->count && i < FIRST_ELEMENTS; i++) {
		uint8_t bytes[8] = { 0 };
		uint64_t n;

		if (read_at(value, bytes, value->width, at) < 0)
			return;
		at += value->width;
		n = load_u64(bytes);
		/* The reader has checked the length, but the file may have changed. */
		if (n > value->offset + value->length - at)
			return;
		cJSON_AddItemToArray(first,
				     read_text(value, at, n < FIRST_BYTES ? n : FIRST_BYTES));
		at += n;
	}
}

static void add_scalars(const struct value *value, cJSON *first)
{
	uint64_t scalar;

	for (uint64_t i = 0; i < FIRST_ELEMENTS && value_scalar(value, i, &scalar); i++)
		cJSON_AddItemToArray(first, json_scalar(value->type.element, scalar));
}

static cJSON *array_value(const struct value *value)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *first;

	cJSON_AddStringToObject(object, "type", "array");
	cJSON_AddStringToObject(object, "element", kv_type_name(value->type.element));
	json_add_unsigned(object, "length", value->count);
	first = cJSON_AddArrayToObject(object, "first");
	if (value->type.element == KV_STRING)
		add_strings(value, first);
	else
		add_scalars(value, first);
	return object;
}

cJSON *json_value(const struct value *value)
{
	uint64_t scalar;

	if (value->type.type == KV_STRING)
		return string_value(value);
	if (value->type.type == KV_ARRAY)
		return array_value(value);
	return value_scalar(value, 0, &scalar) ? json_scalar(value->type.type, scalar) : NULL;
}

char *json_key(const char *bytes, size_t n)
{
	return clean(bytes, n, true);
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

char *json_string(const char *bytes, size_t n)
{
	cJSON *item = json_text(bytes, n);
	char *plain = item ? cJSON_PrintUnformatted(item) : NULL, *text = NULL;
	size_t size;
	FILE *out = plain ? open_memstream(&text, &size) : NULL;

	if (out) {
		json_print(plain, out);
		if (fclose(out) != 0) {
			free(text);
			text = NULL;
		}
	}
	cJSON_free(plain);
	cJSON_Delete(item);
	return text;
}
