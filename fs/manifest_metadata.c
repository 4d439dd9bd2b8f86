/* SPDX-License-Identifier: MIT */
/* manifest_metadata.c - metadata values as JSON, read from the base when they are asked for. */
#include "fs/json.h"
#include "fs/manifest_internal.h"
#include "gguf/bytes.h"

#include <stdlib.h>

/* A longer string is shown by how it begins. */
#define STRING_MAX ((uint64_t)1 << 20)

/* Of an array these many elements are shown, and of a string in it so many bytes. */
#define FIRST_ELEMENTS 8
#define FIRST_BYTES    ((uint64_t)200)

static cJSON *read_text(struct model *model, uint64_t offset, uint64_t n)
{
	char *bytes = malloc((size_t)n + 1);
	cJSON *item = NULL;

	if (bytes && backing_read(model->base, bytes, (size_t)n, offset) == 0)
		item = json_text(bytes, (size_t)n);
	free(bytes);
	return item;
}

static cJSON *string_value(struct model *model, const struct kv *kv)
{
	cJSON *object;

	if (kv->length <= STRING_MAX)
		return read_text(model, kv->offset, kv->length);
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "type", "string");
	json_add_unsigned(object, "length", kv->length);
	cJSON_AddItemToObject(object, "first", read_text(model, kv->offset, FIRST_BYTES));
	return object;
}

static void add_strings(struct model *model, const struct kv *kv, cJSON *first)
{
	const size_t width = model->gguf->version > 1 ? 8 : 4;
	uint64_t at = kv->offset;

	for (uint64_t i = 0; i < kv->count && i < FIRST_ELEMENTS; i++) {
		uint8_t bytes[8] = { 0 };
		uint64_t n;

		if (backing_read(model->base, bytes, width, at) < 0)
			return;
		n = load_u64(bytes);
		/* The reader has checked it; the file may have changed. */
		if (n > kv->offset + kv->length - at)
			return;
		cJSON_AddItemToArray(first, read_text(model, at + width,
						      n < FIRST_BYTES ? n : FIRST_BYTES));
		at += width + n;
	}
}

static void add_scalars(struct model *model, const struct kv *kv, cJSON *first)
{
	const size_t width = kv_type_size(kv->element);

	for (uint64_t i = 0; i < kv->count && i < FIRST_ELEMENTS; i++) {
		uint8_t bytes[8] = { 0 };

		if (backing_read(model->base, bytes, width, kv->offset + i * width) < 0)
			return;
		cJSON_AddItemToArray(first, json_scalar(kv->element, load_u64(bytes)));
	}
}

static cJSON *array_value(struct model *model, const struct kv *kv)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *first;

	cJSON_AddStringToObject(object, "type", "array");
	cJSON_AddStringToObject(object, "element", kv_type_name(kv->element));
	json_add_unsigned(object, "length", kv->count);
	first = cJSON_AddArrayToObject(object, "first");
	if (kv->element == KV_STRING)
		add_strings(model, kv, first);
	else
		add_scalars(model, kv, first);
	return object;
}

cJSON *manifest_value(struct model *model, const struct kv *kv)
{
	if (kv->type == KV_STRING)
		return string_value(model, kv);
	if (kv->type == KV_ARRAY)
		return array_value(model, kv);
	return json_scalar(kv->type, kv->scalar);
}
