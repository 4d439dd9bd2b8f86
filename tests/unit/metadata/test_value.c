/* SPDX-License-Identifier: MIT */
/* test_value.c - fs/metadata/value.c: the words of types and scalars, both ways. */
#include "fs/metadata/value.h"
#include "tests/unit/unit.h"

#include <math.h>

static const char *text_of(enum kv_type type, uint64_t scalar)
{
	static char text[VALUE_SCALAR_TEXT];

	const size_t n = value_scalar_text(type, scalar, text);

	assert_int_equal(n, strlen(text));
	return text;
}

static uint64_t parsed(enum kv_type type, const char *text)
{
	struct error err = { 0 };
	uint64_t scalar = 0;

	if (value_scalar_parse(type, text, strlen(text), 0, &scalar, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return scalar;
}

static void refused(enum kv_type type, const char *text)
{
	struct error err = { 0 };
	uint64_t scalar;

	assert_refused(value_scalar_parse(type, text, strlen(text), 7, &scalar, &err), &err, EINVAL,
		       7);
}

static void assert_both(enum kv_type type, uint64_t scalar, const char *text)
{
	assert_string_equal(text_of(type, scalar), text);
	assert_int_equal(parsed(type, text), scalar);
}

static void every_integer_type_has_its_range(void **state)
{
	static const struct {
		enum kv_type type;
		const char *least, *most, *below, *above;
	} ranges[] = {
		{ KV_U8, "0", "255", "-1", "256" },
		{ KV_I8, "-128", "127", "-129", "128" },
		{ KV_U16, "0", "65535", "-1", "65536" },
		{ KV_I16, "-32768", "32767", "-32769", "32768" },
		{ KV_U32, "0", "4294967295", "-1", "4294967296" },
		{ KV_I32, "-2147483648", "2147483647", "-2147483649", "2147483648" },
		{ KV_U64, "0", "18446744073709551615", "-1", "18446744073709551616" },
		{ KV_I64, "-9223372036854775808", "9223372036854775807", "-9223372036854775809",
		  "9223372036854775808" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
		const enum kv_type type = ranges[i].type;

		assert_string_equal(text_of(type, parsed(type, ranges[i].least)), ranges[i].least);
		assert_string_equal(text_of(type, parsed(type, ranges[i].most)), ranges[i].most);
		refused(type, ranges[i].below);
		refused(type, ranges[i].above);
		refused(type, "99999999999999999999999999");
		assert_int_equal(parsed(type, "+5"), 5);
		assert_int_equal(parsed(type, "007"), 7);
	}
	assert_both(KV_U64, UINT64_MAX - 1, "18446744073709551614");
	assert_both(KV_I64, (1ull << 53) + 1, "9007199254740993");
	assert_int_equal(parsed(KV_U8, "-0"), 0);
}

static void text_that_is_no_number_is_refused(void **state)
{
	static const char *const texts[] = { "",    "-",   "+",	  "x",	 "1x",	 "0x10", "1.",
					     "1.5", "1e3", "--1", "1 2", "true", "1,",	 "nan" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		refused(KV_U32, texts[i]);
		refused(KV_I64, texts[i]);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(texts) - 1; i++)
		if (strcmp(texts[i], "1.") != 0 && strcmp(texts[i], "1.5") != 0 &&
		    strcmp(texts[i], "1e3") != 0)
			refused(KV_F32, texts[i]);
	refused(KV_F32, "1e");
	refused(KV_F32, ".");
	refused(KV_F32, "1e99");
	refused(KV_F64, "-1e999");
	refused(KV_F64, "0x1p3");
	refused(KV_F32, "infinit");
	refused(KV_F32, "nan(0x7f800000)");
	refused(KV_F32, "nan(0x7fc0000)");
	refused(KV_F32, "nan(0x-fc00001)");
	refused(KV_BOOL, "yes");
	refused(KV_BOOL, "256");
}

static uint64_t bits(float value)
{
	uint32_t low;

	memcpy(&low, &value, sizeof(low));
	return low;
}

static uint64_t wide_bits(double value)
{
	uint64_t scalar;

	memcpy(&scalar, &value, sizeof(scalar));
	return scalar;
}

static void floats_have_no_digit_too_many(void **state)
{
	(void)state;
	assert_both(KV_F32, bits(0.0f), "0");
	assert_both(KV_F32, bits(-0.0f), "-0");
	assert_both(KV_F32, bits(0.1f), "0.1");
	assert_both(KV_F32, bits(1e-5f), "1e-05");
	assert_both(KV_F32, bits(0.0001f), "0.0001");
	assert_both(KV_F32, bits(10000.0f), "10000");
	assert_both(KV_F32, bits(500000.0f), "500000");
	assert_both(KV_F32, bits(1000000.0f), "1e+06");
	assert_both(KV_F32, bits(16777216.0f), "16777216");
	assert_both(KV_F32, bits(-31740.0f), "-31740");
	assert_both(KV_F32, bits(3.4028234e38f), "3.4028235e+38");
	assert_both(KV_F32, 1, "1e-45");
	assert_both(KV_F64, wide_bits(0.1), "0.1");
	assert_both(KV_F64, wide_bits(0.1 + 0.2), "0.30000000000000004");
	assert_both(KV_F64, 1, "5e-324");
	assert_both(KV_F64, wide_bits(9007199254740993.0), "9007199254740992");
	assert_both(KV_F64, wide_bits(1e22), "1e+22");
	assert_int_equal(parsed(KV_F32, "1.50e0"), bits(1.5f));
	assert_int_equal(parsed(KV_F32, ".5"), bits(0.5f));
	assert_int_equal(parsed(KV_F32, "1."), bits(1.0f));
}

static void nan_payload_survives_print_and_parse(void **state)
{
	(void)state;
	assert_both(KV_F32, bits(INFINITY), "inf");
	assert_both(KV_F32, bits(-INFINITY), "-inf");
	assert_both(KV_F64, wide_bits(-(double)INFINITY), "-inf");
	assert_both(KV_F32, 0x7fc00000, "nan");
	assert_both(KV_F64, 0x7ff8000000000000, "nan");
	assert_both(KV_F32, 0xffc00000, "nan(0xffc00000)");
	assert_both(KV_F32, 0x7f800001, "nan(0x7f800001)");
	assert_both(KV_F64, 0x7ff0000000000001, "nan(0x7ff0000000000001)");
	assert_int_equal(parsed(KV_F32, "-NaN"), 0xffc00000);
	assert_int_equal(parsed(KV_F32, "Infinity"), bits(INFINITY));
}

static void booleans_of_any_byte_read_back(void **state)
{
	(void)state;
	assert_both(KV_BOOL, 0, "false");
	assert_both(KV_BOOL, 1, "true");
	assert_both(KV_BOOL, 7, "7");
	assert_int_equal(parsed(KV_BOOL, "1"), 1);
	assert_int_equal(parsed(KV_BOOL, "False"), 0);
}

/* The bit patterns are random, and the same in every run. */
static void random_scalars_read_back(void **state)
{
	static const enum kv_type types[] = { KV_U8,  KV_I8,  KV_U16,  KV_I16, KV_U32, KV_I32,
					      KV_F32, KV_F64, KV_BOOL, KV_U64, KV_I64 };
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		const enum kv_type type = types[(size_t)i % ARRAY_LENGTH(types)];
		uint64_t scalar;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		scalar = x >> (64 - 8 * kv_type_size(type));
		assert_int_equal(parsed(type, text_of(type, scalar)), scalar);
	}
}

static void types_have_their_words(void **state)
{
	struct value_type type;
	char text[VALUE_TYPE_TEXT];

	(void)state;
	for (enum kv_type t = 0; t < KV_TYPES; t++) {
		const struct value_type one = { t == KV_ARRAY ? KV_U8 : t, 0 };
		const struct value_type many = { KV_ARRAY, one.type };

		value_type_text(one, text);
		assert_true(value_type_parse(text, strlen(text), &type));
		assert_true(value_type_same(one, type));
		value_type_text(many, text);
		assert_true(value_type_parse(text, strlen(text), &type));
		assert_true(value_type_same(many, type));
		assert_false(value_type_same(one, many));
	}
	assert_string_equal(value_type_text((struct value_type){ KV_U32, 0 }, text), "uint32");
	assert_true(value_type_parse("F32", 3, &type) && type.type == KV_F32);
	assert_true(value_type_parse("u32[]", 5, &type) && type.element == KV_U32);
	assert_true(value_type_parse("Array of i8", 11, &type) && type.element == KV_I8);
	assert_false(value_type_parse("array", 5, &type));
	assert_false(value_type_parse("array of array", 14, &type));
	assert_false(value_type_parse("u32 ", 4, &type));
	assert_false(value_type_parse("", 0, &type));
	assert_false(value_type_parse("[]", 2, &type));
}

UNIT_MAIN(NULL, NULL)
