/* SPDX-License-Identifier: MIT */
/* metadata_json.c - metadata values as JSON, read where they lie when they are asked for. */
#include "fs/metadata/metadata_json.h"
#include "fs/metadata/json_value.h"
#include "gguf/bytes.h"

#include <stdlib.h>

/* A longer string is shown by how it begins. */
#define STRING_MAX ((uint64_t)1 << 20)

/* Of an array these many elements are shown, and of a string in it so many bytes. */
#define FIRST_ELEMENTS 8
#define FIRST_BYTES    ((uint64_t)200)

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
		/* The reader has checked it; the file may have changed. */
		if (n > value->offset + value->length - at)
			return;
		cJSON_AddItemToArray(first,
				     read_text(value, at, n < FIRST_BYTES ? n : FIRST_BYTES));
		at += n;
	}
}

static void add_scalars(const struct value *value, cJSON *first)
{
	const size_t width = kv_type_size(value->type.element);

	for (uint64_t i = 0; i < value->count && i < FIRST_ELEMENTS; i++) {
		uint8_t bytes[8] = { 0 };

		if (read_at(value, bytes, width, value->offset + i * width) < 0)
			return;
		cJSON_AddItemToArray(first, json_scalar(value->type.element, load_u64(bytes)));
	}
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

cJSON *metadata_json_value(const struct value *value)
{
	uint8_t bytes[8] = { 0 };

	if (value->type.type == KV_STRING)
		return string_value(value);
	if (value->type.type == KV_ARRAY)
		return array_value(value);
	if (read_at(value, bytes, (size_t)value->length, value->offset) < 0)
		return NULL;
	return json_scalar(value->type.type, load_u64(bytes));
}
