/* SPDX-License-Identifier: MIT */
/* fuzz_value_text.c - any bytes as a metadata value: its text reads back as those bytes, a read of
 * a part equals this part of the whole, also across chunks, and its JSON is valid. Bytes that are
 * no value of their type have no text. The first byte chooses the type, the second the part, and
 * the third, for arrays, whether the count is right and how wide lengths are. */
#include "fs/metadata/json_value.h"
#include "fs/metadata/value_parse.h"
#include "fs/metadata/value_text.h"
#include "fuzz_json.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <string.h>

#define CHOICES ((size_t)3)

struct tried {
	struct value value;
	struct memory_bytes memory;
	struct source source;
	uint8_t *bytes; /* caller frees */
	bool sound;	/* the bytes are a value of the type */
};

static struct value_type type_of(uint8_t byte)
{
	static const enum kv_type types[] = { KV_U8,  KV_I8,  KV_U16, KV_I16, KV_U32,  KV_I32,
					      KV_F32, KV_U64, KV_I64, KV_F64, KV_BOOL, KV_STRING };
	const enum kv_type type = types[(byte & 127) % (sizeof(types) / sizeof(types[0]))];

	return byte & 128 ? (struct value_type){ KV_ARRAY, type } : (struct value_type){ type, 0 };
}

/* Make the strings of an array; a byte of the input before each gives its length. */
static void make_strings(struct tried *t, const uint8_t *data, size_t size)
{
	uint8_t *at = t->bytes;

	t->value.count = 0;
	while (size) {
		const size_t n = data[0] < size - 1 ? data[0] : size - 1;

		at = t->value.width == 8 ? store_u64(at, n) : store_u32(at, (uint32_t)n);
		at = store_bytes(at, data + 1, n);
		data += 1 + n;
		size -= 1 + n;
		t->value.count++;
	}
	t->value.length = (uint64_t)(at - t->bytes);
}

static void make_value(struct tried *t, const uint8_t *data, size_t size, uint8_t choice)
{
	const struct value_type type = t->value.type;
	const enum kv_type scalar = type.type == KV_ARRAY ? type.element : type.type;
	const size_t width = scalar == KV_STRING ? 1 : kv_type_size(scalar);

	t->bytes = malloc(9 * size + 16);
	require(t->bytes != NULL);
	memset(t->bytes, 0, 16);
	if (size)
		memcpy(t->bytes, data, size);
	t->value.width = choice & 1 ? 4 : 8;
	t->value.count = size / width;
	t->value.length = size / width * width;
	t->sound = true;
	if (type.type != KV_ARRAY && type.type != KV_STRING) {
		t->value.length = width;
	} else if (scalar == KV_STRING && type.type == KV_ARRAY && choice & 2) {
		/* The bytes as they are: the lengths in them may be anything. */
		t->sound = false;
		t->value.count = choice >> 3;
	} else if (scalar == KV_STRING && type.type == KV_ARRAY) {
		make_strings(t, data, size);
	}
	if (type.type == KV_ARRAY && choice & 4) {
		t->value.count += 1 + (choice >> 3);
		t->sound = false;
	}
	t->memory = (struct memory_bytes){ t->bytes, (size_t)t->value.length };
	t->source = source_of_memory(&t->memory);
	t->value.source = &t->source;
}

static void check_part(const struct value_text *text, const struct value *value, const char *whole,
		       uint64_t from, uint64_t n)
{
	char *bytes = malloc((size_t)n + 1);

	require(bytes && value_text_read(text, value, bytes, (size_t)n, from) == 0);
	require(memcmp(bytes, whole + from, (size_t)n) == 0);
	free(bytes);
}

static void check_parts(const struct value_text *text, const struct value *value, const char *whole,
			uint8_t part)
{
	const uint64_t size = value_text_size(text), from = size * part / 256;
	uint64_t sum = 0;

	check_part(text, value, whole, from, (size - from) / (1 + part % 7u));
	for (size_t i = 0; i < value_text_chunks(text); i++) {
		uint64_t offset;
		const uint64_t n = value_text_chunk(text, i, &offset);

		require(offset == sum);
		check_part(text, value, whole, offset, n);
		sum += n;
	}
	require(sum == size);
}

static void check_reads_back(const struct tried *t, const char *whole, size_t size)
{
	struct memory_bytes memory = { (const uint8_t *)whole, size };
	const struct source source = source_of_memory(&memory);
	struct value_bytes again = { 0 };
	struct error err = { 0 };

	require(value_parse(&source, t->value.type, t->value.width, &again, &err) == 0);
	require(t->value.type.type != KV_ARRAY || again.count == t->value.count);
	require(again.length == t->value.length);
	require(!again.length || memcmp(again.bytes, t->bytes, again.length) == 0);
	free(again.bytes);
}

static void check_json(const struct tried *t)
{
	cJSON *item = json_value(&t->value);

	if (item)
		require_json(item);
}

static void check_text(const struct tried *t, uint8_t part)
{
	int rc = 0;
	struct value_text *text = value_text_new(&t->value, &rc);
	size_t size;
	char *whole;

	if (!text) {
		require(rc == -EIO && !t->sound);
		return;
	}
	size = (size_t)value_text_size(text);
	whole = malloc(size + 1);
	require(whole && value_text_read(text, &t->value, whole, size, 0) == 0);
	require(size && whole[size - 1] == '\n');
	check_parts(text, &t->value, whole, part);
	if (t->sound)
		check_reads_back(t, whole, size);
	free(whole);
	value_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tried t;

	if (size < CHOICES)
		return 0;
	t = (struct tried){ .value = { .type = type_of(data[0]) } };
	make_value(&t, data + CHOICES, size - CHOICES, data[2]);
	check_text(&t, data[1]);
	check_json(&t);
	free(t.bytes);
	return 0;
}
