/* SPDX-License-Identifier: MIT */
/* test_value_text.c - fs/metadata/value_text.c: values as text. Every value of every model reads
 * back to the same bytes, and a part of a long text equals that part of the whole. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "tests/unit/values.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_text(struct value_type type, const void *bytes, size_t n, uint64_t count,
			const char *expected)
{
	struct memory_bytes memory = { bytes, n };
	const struct source source = source_of_memory(&memory);
	const struct value value = { type, 8, count, &source, 0, n };
	struct error err = { 0 };
	struct value_bytes back;
	size_t size;
	char *text = text_of_value(&value, &size);

	assert_int_equal(size, strlen(expected));
	assert_string_equal(text, expected);
	if (parse_text_of(text, size, type, 8, &back, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(back.length, n);
	assert_int_equal(back.count, count);
	assert_memory_equal(back.bytes, bytes, n);
	free(back.bytes);
	free(text);
}

static void strings_are_printed_unchanged(void **state)
{
	static const struct value_type string = { KV_STRING, 0 };

	(void)state;
	assert_text(string, "", 0, 0, "\n");
	assert_text(string, "a b", 3, 0, "a b\n");
	assert_text(string, "two\nlines\n", 10, 0, "two\nlines\n\n");
	assert_text(string, "\xff\"\\", 3, 0, "\xff\"\\\n");
}

static void arrays_are_json(void **state)
{
	static const uint8_t numbers[] = { 0, 7, 255 };
	static const uint8_t floats[] = { 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xff,
					  0, 0, 0xc0, 0x7f, 1, 0, 0x80, 0x7f };
	static const uint8_t bools[] = { 1, 0, 2 };

	(void)state;
	assert_text((struct value_type){ KV_ARRAY, KV_U8 }, numbers, 3, 3, "[0, 7, 255]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_I8 }, numbers, 3, 3, "[0, 7, -1]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_U16 }, numbers, 0, 0, "[]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_STRING }, numbers, 0, 0, "[]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_F32 }, floats, 16, 4,
		    "[1, \"-inf\", \"nan\", \"nan(0x7f800001)\"]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_BOOL }, bools, 3, 3, "[true, false, 2]\n");
}

static void strings_in_arrays_are_escaped(void **state)
{
	static const char *const strings[][2] = {
		{ "", "\"\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\b\t\n\f\r\x01\x1f\x7f", "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\"" },
		{ "\xc2\x9b[\xe2\x80\xae\xd8\x9c", "\"\\u009b[\\u202e\\u061c\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "\xff\xc3", "\"\\udcff\\udcc3\"" },
		{ "\xc3(\xa9", "\"\\udcc3(\\udca9\"" },
		{ "\xed\xb2\x80", "\"\\udced\\udcb2\\udc80\"" },
		{ "ntbfru", "\"ntbfru\"" },
	};
	uint8_t bytes[300], *end = bytes;
	char expected[400] = "[";

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(strings); i++) {
		const size_t n = strlen(strings[i][0]);

		end = store_bytes(store_u64(end, n), strings[i][0], n);
		strcat(strcat(expected, i ? ", " : ""), strings[i][1]);
	}
	/* The last string holds a NUL. */
	end = store_bytes(store_u64(end, 3), "a\0b", 3);
	strcat(expected, ", \"a\\u0000b\"]\n");
	assert_text((struct value_type){ KV_ARRAY, KV_STRING }, bytes, (size_t)(end - bytes),
		    ARRAY_LENGTH(strings) + 1, expected);
}

struct file {
	int fd;
	struct source source;
};

static int read_file(void *context, void *bytes, size_t n, uint64_t offset)
{
	const struct file *file = context;

	return pread(file->fd, bytes, n, (off_t)offset) == (ssize_t)n ? 0 : -EIO;
}

static struct value value_of(const struct gguf *gguf, const struct source *source, uint32_t i)
{
	const struct kv *kv = &gguf->kv[i];

	return (struct value){ .type = { kv->type, kv->element },
			       .width = gguf->version > 1 ? 8 : 4,
			       .count = kv->count,
			       .source = source,
			       .offset = kv->offset,
			       .length = kv->length };
}

static void assert_reads_back(const struct value *value, const char *key)
{
	struct error err = { 0 };
	struct value_bytes back;
	size_t size;
	char *text = text_of_value(value, &size);
	uint8_t *bytes = malloc(value->length + 1);

	assert_non_null(bytes);
	if (parse_text_of(text, size, value->type, value->width, &back, &err) < 0)
		fail_msg("%s: %s", key, err.text);
	assert_int_equal(back.length, value->length);
	if (value->type.type == KV_ARRAY)
		assert_int_equal(back.count, value->count);
	assert_int_equal(value->source->read_at(value->source->context, bytes, value->length,
						value->offset),
			 0);
	assert_memory_equal(back.bytes, bytes, value->length);
	free(back.bytes);
	free(bytes);
	free(text);
}

/* Check a model's values. Returns their number; an unreadable model has none. */
static size_t check_model(const char *path)
{
	struct file file = { .fd = open(path, O_RDONLY) };
	struct stat stat;
	struct gguf *gguf;
	size_t n = 0;

	assert_true(file.fd >= 0);
	assert_int_equal(fstat(file.fd, &stat), 0);
	file.source = (struct source){ read_file, &file, (uint64_t)stat.st_size };
	gguf = gguf_read(&file.source, NULL);
	for (; gguf && n < gguf->n_kv; n++) {
		const struct value value = value_of(gguf, &file.source, (uint32_t)n);

		assert_reads_back(&value, gguf->kv[n].key);
	}
	gguf_free(gguf);
	close(file.fd);
	return n;
}

static size_t check_directory(const char *directory)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	char path[600];
	size_t n = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		if (!strstr(entry->d_name, ".gguf"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		n += check_model(path);
	}
	closedir(entries);
	return n;
}

static void every_value_of_the_models_reads_back(void **state)
{
	const char *more = getenv("MORE_MODELS");

	(void)state;
	assert_true(check_directory("tests/models") > 100);
	check_directory("tests/malformed");
	if (more)
		print_message("%zu values in %s\n", check_directory(more), more);
}

/* Strings like a tokenizer's: count of them, with every byte, of lengths up to 40. */
static uint8_t *many_strings(uint64_t count, uint32_t width, size_t *n)
{
	uint8_t *bytes = malloc(count * (8 + 40)), *end = bytes;
	uint32_t x = 1;

	assert_non_null(bytes);
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t length = (x = x * 1664525 + 1013904223) >> 16 & 31;

		end = width == 8 ? store_u64(end, length) : store_u32(end, length);
		for (uint32_t k = 0; k < length; k++)
			*end++ = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	}
	*n = (size_t)(end - bytes);
	return bytes;
}

static void any_part_is_that_part_of_the_whole(void **state)
{
	(void)state;
	for (uint32_t width = 4; width <= 8; width += 4) {
		size_t n, size;
		uint8_t *bytes = many_strings(20000, width, &n);
		struct memory_bytes memory = { bytes, n };
		const struct source source = source_of_memory(&memory);
		const struct value value = { { KV_ARRAY, KV_STRING }, width, 20000, &source, 0, n };
		char *whole = text_of_value(&value, &size), *part = malloc(300000);
		struct value_text *text;
		uint32_t x = 7;
		int rc;

		text = value_text_new(&value, &rc);
		assert_reads_back(&value, "many");
		assert_true(size > 500000);
		/* The parts begin around each chunk's start, or at random. */
		for (size_t i = 0; i < 3 * value_text_chunks(text) + 30; i++) {
			const size_t length = (x = x * 1664525 + 1013904223) >> 8;
			uint64_t at = x % size;
			size_t most;

			if (i / 3 < value_text_chunks(text)) {
				value_text_chunk(text, i / 3, &at);
				at += i % 3;
				at -= at > 0;
			}
			most = length % (i % 10 ? 5000 : 300000);
			most = most < size - at ? most : size - at;
			assert_int_equal(value_text_read(text, &value, part, most, at), 0);
			assert_memory_equal(part, whole + at, most);
		}
		value_text_free(text);
		free(part);
		free(whole);
		free(bytes);
	}
}

struct counted {
	const uint8_t *bytes;
	uint64_t end, n_read;
};

static int read_counted(void *context, void *bytes, size_t n, uint64_t offset)
{
	struct counted *counted = context;

	assert_true(offset <= counted->end && n <= counted->end - offset);
	counted->n_read += n;
	memcpy(bytes, counted->bytes + offset, n);
	return 0;
}

/* The key has few bytes, before megabytes of other keys. */
static void no_byte_behind_the_value_is_read(void **state)
{
	static const struct {
		struct value_type type;
		uint64_t count, length;
	} values[] = {
		{ { KV_U32, 0 }, 0, 4 },
		{ { KV_STRING, 0 }, 0, 10 },
		{ { KV_ARRAY, KV_U8 }, 7, 7 },
		{ { KV_ARRAY, KV_STRING }, 2, 16 },
	};
	static const uint8_t file[600000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		struct counted counted = { file, 100 + values[i].length, 0 };
		const struct source source = { read_counted, &counted, sizeof(file) };
		const struct value value = { values[i].type, 8,	  values[i].count,
					     &source,	     100, values[i].length };
		size_t size;

		free(text_of_value(&value, &size));
		/* One read is for the size, one for the text. */
		assert_int_equal(counted.n_read, 2 * values[i].length);
	}
}

/* The string is longer than a chunk, and cut within a sequence wherever the chunk ends. */
static void a_long_string_is_cut_between_characters(void **state)
{
	const size_t n = 300001;
	uint8_t *bytes = malloc(8 + n);
	struct memory_bytes memory = { bytes, 8 + n };
	const struct source source = source_of_memory(&memory);

	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		const struct value array = { { KV_ARRAY, KV_STRING }, 8, 1, &source, 0, 8 + n };
		const struct value string = { { KV_STRING, 0 }, 8, 0, &source, 8, n };

		store_u64(bytes, n);
		memset(bytes + 8, 'x', n);
		for (size_t i = shift; i + 3 <= n; i += 3)
			memcpy(bytes + 8 + i, "\xe2\x82\xac", 3);
		assert_reads_back(&array, "array");
		assert_reads_back(&string, "string");
	}
	free(bytes);
}

/* The file has changed since it was parsed. */
static void a_source_that_changed_is_an_error(void **state)
{
	size_t n;
	uint8_t *bytes = many_strings(20000, 8, &n);
	struct memory_bytes memory = { bytes, n };
	const struct source source = source_of_memory(&memory);
	const struct value value = { { KV_ARRAY, KV_STRING }, 8, 20000, &source, 0, n };
	int rc;
	struct value_text *text = value_text_new(&value, &rc);
	char part[100];

	(void)state;
	assert_non_null(text);
	store_u64(bytes, UINT64_MAX);
	assert_int_equal(value_text_read(text, &value, part, 100, 0), -EIO);
	assert_null(value_text_new(&value, &rc));
	assert_int_equal(rc, -EIO);
	store_u64(bytes, 1);
	assert_int_equal(value_text_read(text, &value, part, 100, 0), -EIO);
	memory.size = 50;
	assert_int_equal(value_text_read(text, &value, part, 100, 100), -EIO);
	value_text_free(text);
	free(bytes);
}

/* The numbers have the same count and another length. */
static void numbers_that_changed_are_an_error(void **state)
{
	enum { COUNT = 60000 };
	uint8_t *bytes = malloc(COUNT);
	struct memory_bytes memory = { bytes, COUNT };
	const struct source source = source_of_memory(&memory);
	const struct value value = { { KV_ARRAY, KV_U8 }, 8, COUNT, &source, 0, COUNT };
	struct value_text *text;
	char part[100];
	int rc;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 5, COUNT);
	text = value_text_new(&value, &rc);
	assert_non_null(text);
	assert_int_equal(value_text_read(text, &value, part, 100, 0), 0);
	for (uint8_t other = 10; other; other = other == 10 ? 100 : 0) {
		bytes[7] = other;
		assert_int_equal(value_text_read(text, &value, part, 100, 0), -EIO);
	}
	value_text_free(text);
	free(bytes);
}

static void each_failing_allocation_is_reported(void **state)
{
	size_t n;
	uint8_t *bytes;
	struct memory_bytes memory;
	struct source source;

	(void)state;
	needs_failing_allocations();
	bytes = many_strings(20000, 8, &n);
	memory = (struct memory_bytes){ bytes, n };
	source = source_of_memory(&memory);
	for (uint64_t k = 1;; k++) {
		const struct value value = { { KV_ARRAY, KV_STRING }, 8, 20000, &source, 0, n };
		struct value_text *text;
		char part[10];
		int rc;

		allocation_fails(k);
		text = value_text_new(&value, &rc);
		if (text)
			rc = value_text_read(text, &value, part, sizeof(part), 500000);
		value_text_free(text);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
	}
	free(bytes);
}

UNIT_MAIN(NULL, NULL)
