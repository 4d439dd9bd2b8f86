/* SPDX-License-Identifier: MIT */
/* fuzz_value_parse.c - any text as a metadata value of any type: refused with a place in the text,
 * or read into bytes whose text reads back into the same bytes; a read of a part of that text
 * equals this part of the whole. The first byte chooses the type, the second the part. */
#include "fs/metadata/value_parse.h"
#include "fs/metadata/value_text.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

/* Most bytes of a text that is read back. */
#define TEXT_MAX ((uint64_t)1 << 22)

static struct value_type type_of(uint8_t byte)
{
	static const enum kv_type types[] = { KV_U8,  KV_I8,  KV_U16, KV_I16, KV_U32,  KV_I32,
					      KV_F32, KV_U64, KV_I64, KV_F64, KV_BOOL, KV_STRING };
	const enum kv_type type = types[(byte & 127) % (sizeof(types) / sizeof(types[0]))];

	return byte & 128 ? (struct value_type){ KV_ARRAY, type } : (struct value_type){ type, 0 };
}

static void check_part(const struct value_text *text, const struct value *value, const char *whole,
		       size_t size, uint8_t part)
{
	const size_t from = size * part / 256, n = (size - from) / (1 + part % 7u);
	char *bytes = malloc(n + 1);

	require(bytes && value_text_read(text, value, bytes, n, from) == 0);
	require(memcmp(bytes, whole + from, n) == 0);
	free(bytes);
}

static void check_again(struct value_type type, const struct value_bytes *parsed, uint8_t part)
{
	struct memory_bytes memory = { parsed->bytes, parsed->length };
	const struct source source = source_of_memory(&memory);
	const struct value value = { type, 8, parsed->count, &source, 0, parsed->length };
	struct value_bytes again = { 0 };
	struct error err = { 0 };
	struct source text_source;
	struct value_text *text;
	char *whole;
	size_t size;
	int rc;

	text = value_text_new(&value, &rc);
	require(text != NULL);
	size = (size_t)value_text_size(text);
	if (size > TEXT_MAX) {
		value_text_free(text);
		return;
	}
	whole = malloc(size + 1);
	require(whole && value_text_read(text, &value, whole, size, 0) == 0);
	check_part(text, &value, whole, size, part);
	memory = (struct memory_bytes){ (const uint8_t *)whole, size };
	text_source = source_of_memory(&memory);
	/* No read of value follows, so its source can be replaced. */
	require(value_parse(&text_source, type, 8, &again, &err) == 0);
	require(again.count == parsed->count && again.length == parsed->length);
	require(!again.length || memcmp(again.bytes, parsed->bytes, again.length) == 0);
	free(again.bytes);
	value_text_free(text);
	free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data + 2, size - 2 };
	struct value_bytes parsed = { 0 };
	struct error err = { 0 };
	struct source source;

	if (size < 2)
		return 0;
	source = source_of_memory(&memory);
	if (value_parse(&source, type_of(data[0]), 8, &parsed, &err) == 0)
		check_again(type_of(data[0]), &parsed, data[1]);
	else
		require(err.code == EINVAL && err.text[0] &&
			(err.offset <= size || err.offset == ERROR_NO_OFFSET));
	free(parsed.bytes);
	return 0;
}
