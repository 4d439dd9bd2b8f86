/* SPDX-License-Identifier: MIT */
/* values.h - metadata values and their texts in memory. */
#ifndef TESTS_UNIT_VALUES_H
#define TESTS_UNIT_VALUES_H

#include "fs/metadata/value_parse.h"
#include "fs/metadata/value_text.h"
#include "tests/unit/unit.h"

/* The whole text of a value, to free, with a NUL after it. */
static inline char *text_of_value(const struct value *value, size_t *size)
{
	int rc;
	struct value_text *text = value_text_new(value, &rc);
	char *bytes;

	assert_int_equal(rc, 0);
	*size = value_text_size(text);
	bytes = malloc(*size + 1);
	assert_non_null(bytes);
	assert_int_equal(value_text_read(text, value, bytes, *size, 0), 0);
	bytes[*size] = '\0';
	value_text_free(text);
	return bytes;
}

/* The value that a text of n bytes stands for, as value_parse(). */
static inline int parse_text_of(const char *text, size_t n, struct value_type type, uint32_t width,
				struct value_bytes *out, struct error *err)
{
	struct memory_bytes memory = { (const uint8_t *)text, n };
	const struct source source = source_of_memory(&memory);

	return value_parse(&source, type, width, out, err);
}

#endif
