/* SPDX-License-Identifier: MIT */
/* test_value_parse.c - fs/metadata/value_parse.c: accepted values, refused texts and the
 * byte of the error. test_value_text.c shows that printed values read back. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "tests/unit/values.h"

static const struct value_type u32 = { KV_U32, 0 }, string = { KV_STRING, 0 };
static const struct value_type numbers = { KV_ARRAY, KV_I32 }, strings = { KV_ARRAY, KV_STRING };
static const struct value_type floats = { KV_ARRAY, KV_F32 };

static struct value_bytes taken(const char *text, size_t n, struct value_type type)
{
	struct error err = { 0 };
	struct value_bytes out;

	if (parse_text_of(text, n, type, 8, &out, &err) < 0)
		fail_msg("%s: byte %lld: %s", text, (long long)err.offset, err.text);
	return out;
}

static void assert_taken(const char *text, struct value_type type, const void *bytes, size_t n)
{
	struct value_bytes out = taken(text, strlen(text), type);

	assert_int_equal(out.length, n);
	assert_memory_equal(out.bytes, bytes, n);
	free(out.bytes);
}

static void refused_at(const char *text, struct value_type type, uint64_t offset)
{
	struct error err = { 0 };
	struct value_bytes out;
	const int rc = parse_text_of(text, strlen(text), type, 8, &out, &err);

	if (rc != -EINVAL || err.offset != offset)
		print_error("%s\n", text);
	assert_refused(rc, &err, EINVAL, offset);
	assert_null(out.bytes);
}

static void blanks_around_a_number_do_not_count(void **state)
{
	(void)state;
	assert_taken("5\n", u32, "\5\0\0\0", 4);
	assert_taken("5", u32, "\5\0\0\0", 4);
	assert_taken(" \t5 \r\n\n", u32, "\5\0\0\0", 4);
	refused_at("", u32, 0);
	refused_at("\n", u32, 1);
	refused_at("5 6", u32, 2);
	refused_at("five", u32, 0);
}

static void string_loses_one_final_newline(void **state)
{
	(void)state;
	assert_taken("", string, "", 0);
	assert_taken("\n", string, "", 0);
	assert_taken("\n\n", string, "\n", 1);
	assert_taken(" a \n", string, " a ", 3);
	assert_taken("a\r\n", string, "a\r", 2);
}

static void arrays_may_be_spaced(void **state)
{
	struct value_bytes out;

	(void)state;
	assert_taken("[]", numbers, "", 0);
	assert_taken(" [ ] \n", numbers, "", 0);
	assert_taken("[1,-1]", numbers, "\1\0\0\0\377\377\377\377", 8);
	assert_taken("[\n  1 ,\n  -1\n]\n", numbers, "\1\0\0\0\377\377\377\377", 8);
	assert_taken("[\"\",\"a\"]", strings, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a", 17);
	out = taken("[1, 2, 3]", 9, numbers);
	assert_int_equal(out.count, 3);
	free(out.bytes);
	assert_taken("[Infinity, NaN, \"-inf\", \"nan(0x7f800001)\"]", floats,
		     "\0\0\x80\x7f\0\0\xc0\x7f\0\0\x80\xff\1\0\x80\x7f", 16);
}

static void escapes_are_those_of_json(void **state)
{
	static const char bytes[] = "\x14\0\0\0\0\0\0\0\b\t\n\f\r\"\\/\xc3\xa9\xe2\x82\xac"
				    "\xf0\x9f\x98\x80\xff\x80x";

	(void)state;
	assert_int_equal(sizeof(bytes) - 1, 8 + 20);
	assert_taken("[\"\\b\\t\\n\\f\\r\\\"\\\\\\/\\u00E9\\u20ac\\ud83d\\ude00\\udcff\\udc80x\"]",
		     strings, bytes, sizeof(bytes) - 1);
}

static void malformed_array_is_refused_at_its_first_wrong_byte(void **state)
{
	(void)state;
	refused_at("", numbers, 0);
	refused_at("1", numbers, 0);
	refused_at("[", numbers, 1);
	refused_at("[1", numbers, 2);
	refused_at("[1,", numbers, 3);
	refused_at("[1,]", numbers, 3);
	refused_at("[,1]", numbers, 1);
	refused_at("[1 2]", numbers, 3);
	refused_at("[1]]", numbers, 3);
	refused_at("[[1]]", numbers, 1);
	refused_at("[1, 2.5]", numbers, 4);
	refused_at("[1, \"2\"]", numbers, 4);
	refused_at("[true]", numbers, 1);
	refused_at("[3000000000]", numbers, 1);
	refused_at("[\"1.5\"]", floats, 1);
	refused_at("[1]", strings, 1);
	refused_at("[\"a]", strings, 4);
	refused_at("[\"a\nb\"]", strings, 3);
	refused_at("[\"\xff\"]", strings, 2);
	refused_at("[\"a\\x\"]", strings, 3);
	refused_at("[\"\\u12\"]", strings, 4);
	refused_at("[\"\\u12", strings, 4);
	refused_at("[\"\\ud83d\"]", strings, 2);
	refused_at("[\"\\ud83dx\"]", strings, 2);
	refused_at("[\"\\ud83d\\u0041\"]", strings, 2);
	refused_at("[\"\\udc7f\"]", strings, 2);
	refused_at("[\"\\udd00\"]", strings, 2);
	refused_at("[\"a\\", strings, 3);
}

static void a_string_of_version_1_has_a_short_length(void **state)
{
	struct error err = { 0 };
	struct value_bytes out;

	(void)state;
	assert_int_equal(parse_text_of("[\"ab\"]", 6, strings, 4, &out, &err), 0);
	assert_int_equal(out.length, 6);
	assert_memory_equal(out.bytes, "\2\0\0\0ab", 6);
	free(out.bytes);
}

static int fails(void *context, void *bytes, size_t n, uint64_t offset)
{
	(void)context;
	(void)bytes;
	(void)n;
	(void)offset;
	return -EIO;
}

static void unreadable_input_is_no_value(void **state)
{
	static const struct value_type types[] = { { KV_U32, 0 },
						   { KV_STRING, 0 },
						   { KV_ARRAY, KV_STRING } };
	const struct source broken = { fails, NULL, 100 };
	const struct source huge = { fails, NULL, VALUE_PARSE_MAX + 1 };
	struct error err = { 0 };
	struct value_bytes out;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		assert_refused(value_parse(&broken, types[i], 8, &out, &err), &err, EIO, 0);
		assert_int_equal(value_parse(&huge, types[i], 8, &out, &err), -EINVAL);
	}
}

static void each_failing_allocation_is_reported(void **state)
{
	static const char *const texts[] = { "5", "text", "[\"a\", \"b\"]", "" };
	const struct value_type types[] = { u32, string, strings, string };

	(void)state;
	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		for (uint64_t k = 1;; k++) {
			struct error err = { 0 };
			struct value_bytes out;
			int rc;

			allocation_fails(k);
			rc = parse_text_of(texts[i], strlen(texts[i]), types[i], 8, &out, &err);
			if (!allocation_failed()) {
				assert_int_equal(rc, 0);
				free(out.bytes);
				break;
			}
			assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
		}
}

UNIT_MAIN(NULL, NULL)
