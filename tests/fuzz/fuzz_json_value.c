/* SPDX-License-Identifier: MIT */
/* fuzz_json_value.c - any bytes as a text and as the name of a key in JSON: the output is JSON
 * without control characters and repeats the text as far as that is UTF-8, and all bytes of a key
 * can be restored. The metadata of any GGUF: each value is printed as JSON, or cannot be read. */
#include "fs/metadata/json_value.h"
#include "fs/metadata/value.h"
#include "fs/util/text_escape.h"
#include "fs/util/utf8.h"
#include "fuzz_json.h"
#include "gguf/printable.h"

#include <string.h>

/* Longest text: the conversion of bytes that are no UTF-8 is slow. */
#define TEXT_MAX ((size_t)4096)

/* Does the text equal the bytes, with U+FFFD for each byte that is no UTF-8? */
static bool says(const char *text, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size;) {
		const size_t n = utf8_length(data + i, size - i);
		const char *expected = n ? (const char *)data + i : "\xef\xbf\xbd";
		const size_t length = n ? n : 3;

		if (strncmp(text, expected, length) != 0)
			return false;
		text += length;
		i += n ? n : 1;
	}
	return *text == '\0';
}

static bool has_control(const char *text)
{
	uint32_t code;

	for (size_t left = strlen(text); left; text++, left--)
		if (control_length(text, left, &code))
			return true;
	return false;
}

static void check_text(const uint8_t *data, size_t size)
{
	char *text = json_string((const char *)data, size);
	cJSON *item;

	require(text != NULL && !has_control(text));
	item = cJSON_Parse(text);
	require(cJSON_IsString(item) && says(item->valuestring, data, size));
	cJSON_Delete(item);
	free(text);
}

static void check_key(const uint8_t *data, size_t size)
{
	char *key = json_key((const char *)data, size);

	require(key != NULL);
	require(text_unescape(key) == size && (!size || memcmp(key, data, size) == 0));
	free(key);
}

static void check_value(const struct gguf *gguf, const struct source *source, uint32_t i)
{
	const struct kv *kv = &gguf->kv[i];
	const struct value value = { .type = { kv->type, kv->element },
				     .width = gguf->version > 1 ? 8 : 4,
				     .count = kv->count,
				     .source = source,
				     .offset = kv->offset,
				     .length = kv->length };
	cJSON *item = json_value(&value);

	require(item != NULL);
	require_json(item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data, size };
	const struct source source = source_of_memory(&memory);
	struct gguf *gguf = read_bytes(data, size);

	check_text(data, size < TEXT_MAX ? size : TEXT_MAX);
	check_key(data, size < TEXT_MAX ? size : TEXT_MAX);
	for (uint32_t i = 0; gguf && i < gguf->n_kv; i++)
		check_value(gguf, &source, i);
	gguf_free(gguf);
	return 0;
}
