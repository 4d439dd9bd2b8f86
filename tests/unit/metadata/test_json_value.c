/* SPDX-License-Identifier: MIT */
/* test_json_value.c - fs/metadata/json_value.c: every scalar reads back the same, and any bytes
 * make valid JSON. */
#include "fs/metadata/json_value.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <math.h>

static char *print(cJSON *item)
{
	char *text;

	assert_non_null(item);
	text = cJSON_PrintUnformatted(item);
	assert_non_null(text);
	cJSON_Delete(item);
	return text;
}

static void assert_prints(cJSON *item, const char *expected)
{
	char *text = print(item);

	assert_string_equal(text, expected);
	free(text);
}

static uint64_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void integers_of_every_width_are_exact(void **state)
{
	static const struct {
		enum kv_type type;
		uint64_t scalar;
		const char *text;
	} cases[] = {
		{ KV_U8, 0, "0" },
		{ KV_U8, 0xff, "255" },
		{ KV_I8, 0x7f, "127" },
		{ KV_I8, 0x80, "-128" },
		{ KV_I8, 0xff, "-1" },
		{ KV_U16, 0xffff, "65535" },
		{ KV_I16, 0x8000, "-32768" },
		{ KV_U32, 0xffffffff, "4294967295" },
		{ KV_I32, 0x80000000, "-2147483648" },
		{ KV_I32, 0x7fffffff, "2147483647" },
		{ KV_U64, UINT64_MAX, "18446744073709551615" },
		{ KV_U64, 9007199254740993, "9007199254740993" },
		{ KV_I64, (uint64_t)INT64_MIN, "-9223372036854775808" },
		{ KV_I64, INT64_MAX, "9223372036854775807" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_prints(json_scalar(cases[i].type, cases[i].scalar), cases[i].text);
}

static void booleans_are_true_and_false(void **state)
{
	(void)state;
	assert_prints(json_scalar(KV_BOOL, 0), "false");
	assert_prints(json_scalar(KV_BOOL, 1), "true");
	assert_prints(json_scalar(KV_BOOL, 2), "true");
}

static void floats_have_their_shortest_form(void **state)
{
	(void)state;
	assert_prints(json_scalar(KV_F32, bits_of_float(0.1f)), "0.1");
	assert_prints(json_scalar(KV_F32, bits_of_float(1e-5f)), "1e-05");
	assert_prints(json_scalar(KV_F32, bits_of_float(1e6f)), "1e+06");
	assert_prints(json_scalar(KV_F32, bits_of_float(10000.0f)), "10000");
	assert_prints(json_scalar(KV_F32, bits_of_float(16777216.0f)), "16777216");
	assert_prints(json_scalar(KV_F32, bits_of_float(1.0f / 3.0f)), "0.33333334");
	assert_prints(json_scalar(KV_F64, bits_of_double(0.1)), "0.1");
	assert_prints(json_scalar(KV_F64, bits_of_double(0.1 + 0.2)), "0.30000000000000004");
	assert_prints(json_scalar(KV_F64, bits_of_double(1e300)), "1e+300");
}

static void non_finite_numbers_print_as_words(void **state)
{
	(void)state;
	assert_prints(json_scalar(KV_F32, 0x7fc00000), "\"NaN\"");
	assert_prints(json_scalar(KV_F32, 0xffffffff), "\"NaN\"");
	assert_prints(json_scalar(KV_F32, 0x7f800000), "\"Infinity\"");
	assert_prints(json_scalar(KV_F32, 0xff800000), "\"-Infinity\"");
	assert_prints(json_scalar(KV_F64, bits_of_double((double)NAN)), "\"NaN\"");
	assert_prints(json_scalar(KV_F64, bits_of_double((double)INFINITY)), "\"Infinity\"");
	assert_prints(json_scalar(KV_F64, bits_of_double(-(double)INFINITY)), "\"-Infinity\"");
}

/* A bit pattern: the ends of the range, subnormals, and random ones. */
static uint64_t pattern(uint64_t i)
{
	static const uint64_t ends[] = { 0,
					 1,
					 0x80000000,
					 0x80000001,
					 0x007fffff,
					 0x00800000,
					 0x7f7fffff,
					 0xff7fffff,
					 0x3f800000,
					 0x3f800001,
					 0x3f7fffff,
					 0x000fffffffffffff,
					 0x0010000000000000,
					 0x7fefffffffffffff,
					 0x8000000000000000 };

	if (i < ARRAY_LENGTH(ends))
		return ends[i];
	i *= 0x9e3779b97f4a7c15;
	return (i ^ i >> 31) * 0xbf58476d1ce4e5b9;
}

static void every_float_reads_back_the_same(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		const uint32_t bits = (uint32_t)pattern(i);
		float value;
		char *text;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		text = print(json_scalar(KV_F32, bits));
		assert_int_equal(bits_of_float(strtof(text, NULL)), bits);
		free(text);
	}
}

static void every_double_reads_back_the_same(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t bits = pattern(i);
		double value;
		char *text;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		text = print(json_scalar(KV_F64, bits));
		assert_true(bits_of_double(strtod(text, NULL)) == bits);
		free(text);
	}
}

static void numbers_are_valid_json(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		for (enum kv_type type = 0; type < KV_TYPES; type++) {
			char *text;
			cJSON *back;

			if (type == KV_STRING || type == KV_ARRAY)
				continue;
			text = print(json_scalar(type, pattern(i)));
			back = cJSON_ParseWithOpts(text, NULL, true);
			assert_non_null(back);
			cJSON_Delete(back);
			free(text);
		}
	}
}

static void whole_numbers_are_added_exactly(void **state)
{
	cJSON *object = cJSON_CreateObject();

	(void)state;
	json_add_unsigned(object, "u", UINT64_MAX);
	json_add_unsigned(object, "j", 7);
	assert_prints(object, "{\"u\":18446744073709551615,\"j\":7}");
}

/* U+FFFD. */
#define MARK "\xef\xbf\xbd"

static void text_that_is_utf8_stays_as_it_is(void **state)
{
	static const char text[] = "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\xa7\xa0 \xf4\x8f\xbf\xbf "
				   "\xed\x9f\xbf \xee\x80\x80 %41 \"\\\n\x01\x7f";
	cJSON *item = json_text(text, sizeof(text) - 1);

	(void)state;
	assert_non_null(item);
	assert_string_equal(item->valuestring, text);
	cJSON_Delete(item);
}

static void invalid_utf8_becomes_replacement_characters(void **state)
{
	static const struct {
		const char *bytes, *text;
		size_t n;
	} cases[] = {
		{ "", "", 0 },
		{ "a\0b", "a" MARK "b", 3 },
		{ "\0", MARK, 1 },
		{ "\xff", MARK, 1 },
		{ "\x80", MARK, 1 },
		{ "\xc3", MARK, 1 },				/* cut off */
		{ "\xe2\x82", MARK MARK, 2 },			/* cut off */
		{ "\xf0\x9f\xa7", MARK MARK MARK, 3 },		/* cut off */
		{ "\xc3\x28", MARK "(", 2 },			/* no continuation */
		{ "\xc0\x80", MARK MARK, 2 },			/* overlong */
		{ "\xe0\x80\x80", MARK MARK MARK, 3 },		/* overlong */
		{ "\xed\xa0\x80", MARK MARK MARK, 3 },		/* a surrogate */
		{ "\xf4\x90\x80\x80", MARK MARK MARK MARK, 4 }, /* above U+10FFFF */
		{ "\xe2\x82\xac\xe2", "\xe2\x82\xac" MARK, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint8_t *exact = mk_copy(cases[i].bytes, cases[i].n);
		cJSON *item = json_text((const char *)exact, cases[i].n);

		assert_non_null(item);
		assert_string_equal(item->valuestring, cases[i].text);
		cJSON_Delete(item);
		free(exact);
	}
}

static void text_of_any_bytes_reads_back_as_json(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3000; i++) {
		const uint64_t bytes = pattern(i);
		char *text = print(json_text((const char *)&bytes, sizeof(bytes)));
		cJSON *back = cJSON_ParseWithOpts(text, NULL, true);

		assert_true(cJSON_IsString(back));
		cJSON_Delete(back);
		free(text);
	}
}

static void a_string_is_whole_json(void **state)
{
	char *text = json_string("a\"\x7f\n\xff", 5);

	(void)state;
	assert_string_equal(text, "\"a\\\"\\u007f\\n\xef\xbf\xbd\"");
	free(text);
	text = json_string("", 0);
	assert_string_equal(text, "\"\"");
	free(text);
}

static void bytes_of_a_key_that_are_no_text_are_encoded(void **state)
{
	static const struct {
		const char *bytes, *key;
		size_t n;
	} cases[] = {
		{ "general.name", "general.name", 12 },
		{ "", "", 0 },
		{ "100%", "100%25", 4 },
		{ "%00", "%2500", 3 },
		{ "a\0b", "a%00b", 3 },
		{ "\xff\xc3", "%FF%C3", 2 },
		{ "\xce\xb8", "\xce\xb8", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char *key = json_key(cases[i].bytes, cases[i].n);

		assert_string_equal(key, cases[i].key);
		free(key);
	}
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keys of up to four bytes of an alphabet with every kind of byte. */
static void different_keys_stay_different(void **state)
{
	static const char alphabet[] = { 'a', '%', '0', '\0', '\xc3', '\xa4', '\xff' };
	enum { LETTERS = sizeof(alphabet), KEYS = 1 + 7 + 49 + 343 + 2401 };
	char **keys = calloc(KEYS, sizeof(*keys));
	size_t n = 0;

	(void)state;
	for (size_t length = 0, count = 1; length <= 4; length++, count *= LETTERS) {
		for (size_t i = 0; i < count; i++) {
			char bytes[4];

			for (size_t k = 0, rest = i; k < length; k++, rest /= LETTERS)
				bytes[k] = alphabet[rest % LETTERS];
			keys[n++] = json_key(bytes, length);
		}
	}
	assert_int_equal(n, KEYS);
	qsort(keys, n, sizeof(*keys), compare_texts);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(keys[i - 1], keys[i]);
	for (size_t i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
}

UNIT_MAIN(NULL, NULL)
